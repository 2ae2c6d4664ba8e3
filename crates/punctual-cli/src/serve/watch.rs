//! Tells when a file may have changed: written, replaced, or its link turned elsewhere.
//!
//! The kernel tells of changes in the file's folder; whoever is told looks whether the text is another one.

use rustix::fs::inotify;
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::thread;

/// Calls `told` whenever something happened beside the file. Ends with the process.
pub(crate) fn watch(path: &Path, mut told: impl FnMut() + Send + 'static) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let events = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    let what = inotify::WatchFlags::CLOSE_WRITE
        | inotify::WatchFlags::MOVED_TO
        | inotify::WatchFlags::CREATE
        | inotify::WatchFlags::DELETE;
    inotify::add_watch(&events, folder, what)?;
    let look = move || {
        let mut buffer = [const { MaybeUninit::uninit() }; 4_096];
        let mut reader = inotify::Reader::new(&events, &mut buffer);
        loop {
            match reader.next() {
                Ok(_) => told(),
                Err(rustix::io::Errno::INTR) => {}
                // The folder itself is gone: a signal can still ask for another look.
                Err(_) => return,
            }
        }
    };
    thread::Builder::new().name("watch".to_owned()).spawn(look)?;
    Ok(())
}
