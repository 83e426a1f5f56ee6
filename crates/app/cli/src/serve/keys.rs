//! The secrets of `serve`, which lie in files that nobody else may read.

use std::{
    fs::File,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use anabranch_compare::small_file;
use anabranch_security::{Demand, Form, Keys, Secret, list};
use nix::unistd::geteuid;

use super::ServeArguments;
use crate::error::{CommandError, Result};

/// Permissions of all but the owner.
const OF_OTHERS: u32 = 0o077;

/// Reads what the options name. No error repeats what a file holds.
pub fn read(arguments: &ServeArguments) -> Result<Keys> {
    let hosts = arguments.host_secret.as_deref();
    let hosts =
        hosts.map(|path| read_private("--host-secret", path, |text| list(Form::Dhchap, text)));
    let own = arguments.controller_secret.as_deref();
    let own = own.map(|path| {
        let secret = |text: &str| Secret::of(Form::Dhchap, text.trim());
        read_private("--controller-secret", path, secret)
    });
    let tls = arguments.tls_key.as_deref();
    let tls = tls.map(|path| read_private("--tls-key", path, |text| list(Form::Tls, text)));
    Ok(Keys {
        tls: tls.transpose()?,
        hosts: hosts.transpose()?,
        controller: own.transpose()?,
        demand: Demand {
            hash: arguments.dhchap_hash,
            group: arguments.dhchap_group,
        },
    })
}

/// Reads the text of a file that only its owner may read.
fn read_private<T, E: std::fmt::Display>(
    option: &str,
    path: &Path,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<T> {
    let name = path.display();
    let wrong =
        |why: &dyn std::fmt::Display| CommandError::wrong_use(format!("{option} {name}: {why}"));
    // One open file is looked at and read, so that no other can take its place between.
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let found = file.metadata().map_err(|error| wrong(&error))?;
    let is_own = [0, geteuid().as_raw()].contains(&found.uid());
    if !is_own || found.permissions().mode() & OF_OTHERS != 0 {
        return Err(wrong(&format!(
            "others may read or change it; `chown $(id -u) {name}; chmod 600 {name}` keeps it to you"
        )));
    }
    let text = small_file::opened(&file).map_err(|error| wrong(&error))?;
    read(&text).map_err(|error| wrong(&error))
}
