//! This binary again, as a process whose clocks and whose running can be changed from outside.

use crate::second;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const OFFSET: &str = "FAKETIME_TIMESTAMP_FILE";

/// Longer than a test's own patience, which ends with a message.
const LIMIT: Duration = Duration::from_secs(90);

/// Runs `body`, the whole of a test, in a process of its own. `meanwhile` is what this process does.
pub(crate) fn alone<F: FnOnce()>(body: F, meanwhile: impl FnOnce(&mut second::Other)) {
    second::in_second_process(LIMIT, |_| (), body, meanwhile);
}

/// As [`alone`], with a wall clock that [`put_the_wall`] moves. Says why if that cannot be had; in the gate, which installs what it
/// needs, that is a failure.
pub(crate) fn with_a_wall_clock_of_its_own<F: FnOnce()>(body: F) {
    let Some(library) = libfaketime() else {
        let why = "libfaketime is not installed (`apt-get install faketime`)";
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
        println!("skipped: {why}");
        return;
    };
    let name = format!(
        "punctual-wall-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let offset = std::env::temp_dir().join(name.replace(['(', ')'], ""));
    let prepare = |command: &mut Command| {
        std::fs::write(&offset, "+0").expect("a folder for temporary files");
        command
            .env("LD_PRELOAD", library)
            .env(OFFSET, &offset)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    };
    second::in_second_process(LIMIT, prepare, body, |_| ());
    let _ = std::fs::remove_file(&offset);
}

/// From now on this process's wall clock is off by so many seconds. Its monotonic clock goes on as before.
pub(crate) fn put_the_wall(seconds: i64) {
    let file = std::env::var_os(OFFSET).expect("a wall clock of its own");
    // Whole or not at all: the file is read whenever anybody asks what time it is.
    let next = Path::new(&file).with_extension("next");
    std::fs::write(&next, format!("{seconds:+}")).expect("a folder for temporary files");
    std::fs::rename(&next, &file).expect("in the same folder");
}

fn libfaketime() -> Option<PathBuf> {
    let arch = std::env::consts::ARCH;
    let folders = [
        format!("/usr/lib/{arch}-linux-gnu/faketime"),
        "/usr/lib/faketime".to_owned(),
        "/usr/lib64/faketime".to_owned(),
        "/usr/local/lib/faketime".to_owned(),
    ];
    let files = folders
        .iter()
        .map(|folder| Path::new(folder).join("libfaketimeMT.so.1"));
    files.into_iter().find(|file| file.exists())
}
