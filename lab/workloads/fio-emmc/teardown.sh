#!/usr/bin/env bash
# Nothing runs on: the drive goes with all that is on it.
