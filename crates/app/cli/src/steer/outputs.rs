//! The report of a steered drive where it was asked for: on standard output, and in files.

use std::{io::Write as _, path::PathBuf};

use anabranch_trace::WholeFile;

use super::arguments::SteerArguments;
use crate::{
    error::{CommandError, Result},
    output::is_standard_output,
};

/// The files that the end is written to, made before the drive is touched.
pub struct ReportFiles {
    json: Option<WholeFile>,
    page: Option<WholeFile>,
}

impl ReportFiles {
    /// Makes those that were asked for.
    ///
    /// # Errors
    /// When one of them cannot be.
    pub fn create(arguments: &SteerArguments) -> Result<ReportFiles> {
        let create = |path: &Option<PathBuf>| path.as_ref().map(WholeFile::create).transpose();
        Ok(ReportFiles {
            json: create(&arguments.output)?,
            page: create(&arguments.html)?,
        })
    }
}

/// Gives the report: on standard output, where a page stands alone, and into the files. Each is given whatever became of the
/// others; the error is the first.
pub fn give_all(
    arguments: &SteerArguments,
    json: &serde_json::Value,
    text: &str,
    files: ReportFiles,
    print: impl FnOnce(&str) -> Result,
) -> Result {
    let is_page = arguments.html.as_deref().is_some_and(is_standard_output);
    let printed = if arguments.json {
        print(&format!("{json:#}\n"))
    } else if is_page {
        Ok(())
    } else {
        print(text)
    };
    let put = |file: Option<WholeFile>, path: &Option<PathBuf>, text: Result<String>| {
        let (Some(mut file), Some(path)) = (file, path) else {
            return Ok(());
        };
        file.write_all(text?.as_bytes()).map_err(|error| {
            CommandError::work(anyhow::anyhow!("cannot write {}: {error}", path.display()))
        })?;
        Ok(file.finish()?)
    };
    let written = put(files.json, &arguments.output, Ok(format!("{json:#}\n")));
    let page = files.page.is_some().then(|| {
        let page = anabranch_report::steered_page(json.clone());
        page.map_err(CommandError::work)
    });
    let page = put(
        files.page,
        &arguments.html,
        page.unwrap_or(Ok(String::new())),
    );
    printed.and(written).and(page)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, ffi::OsStr};

    use super::*;

    #[test]
    fn a_full_disk_takes_neither_the_printed_report_nor_the_other_file_along() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("page.html");
        let words = ["steer", "--device=/dev/ng0n1", "-o", "/dev/full", "--html"];
        let words = words.iter().map(OsStr::new).chain([page.as_os_str()]);
        let arguments = SteerArguments::of(words);
        let files = ReportFiles {
            json: Some(WholeFile::create("/dev/full").unwrap()),
            page: Some(WholeFile::create(&page).unwrap()),
        };
        let report = serde_json::json!({
            "schema": anabranch_report::STEERED_SCHEMA,
            "config": {
                "verb": "steer", "scheme": "dac", "queues": 1, "depth": 1, "zero_copy": true, "directive": "fdp",
            },
            "drive": {
                "model": "A", "serial": "1", "bytes": 4096, "host_bytes": null, "media_bytes": null, "waf": null,
            },
            "handles": [],
            "written_bytes": 0, "read_bytes": 0, "discarded_bytes": 0, "zeroed_bytes": 0, "unplaced_bytes": 0,
            "writes": 0, "split_writes": 0, "flushes": 0, "errors": 0, "repeated_commands": 0, "unknown_pages": 0,
            "metadata_pages": 0, "handover": null, "shadow": null,
        });
        let mut printed = String::new();
        let given = give_all(&arguments, &report, "told\n", files, |text| {
            printed.push_str(text);
            Ok(())
        });
        let error = given.unwrap_err().error.unwrap().to_string();
        assert!(error.contains("/dev/full"), "{error}");
        assert_eq!(printed, "told\n");
        assert!(page.exists());
    }

    #[test]
    fn a_file_that_cannot_be_written_takes_neither_the_printed_report_nor_the_other_file_along() {
        let directory = tempfile::tempdir().unwrap();
        let gone = directory.path().join("gone");
        std::fs::create_dir(&gone).unwrap();
        let (lost, kept) = (gone.join("report.json"), directory.path().join("page.html"));
        let words = ["steer", "--device=/dev/ng0n1", "-o", "--html"].map(OsStr::new);
        let [verb, device, output, html] = words;
        let words = [
            verb,
            device,
            output,
            lost.as_os_str(),
            html,
            kept.as_os_str(),
        ];
        let arguments = SteerArguments::of(words);
        let create = |path: &PathBuf| Some(WholeFile::create(path).unwrap());
        let files = ReportFiles {
            json: create(&lost),
            page: create(&kept),
        };
        std::fs::remove_dir_all(&gone).unwrap();
        let printed = RefCell::new(String::new());
        let no_report = serde_json::json!({ "schema": 0 });
        let given = give_all(&arguments, &no_report, "told\n", files, |text| {
            printed.borrow_mut().push_str(text);
            Ok(())
        });
        let error = given.unwrap_err().error.unwrap().to_string();
        assert!(error.contains("report.json"), "{error}");
        assert_eq!(*printed.borrow(), "told\n");
        // Of what is no report there is no page, and no file in its place.
        assert!(!kept.exists());
    }
}
