#!/usr/bin/env bash
# fio lays out its own files as it begins.
