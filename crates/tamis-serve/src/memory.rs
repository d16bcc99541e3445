//! Memory back to the system after a crowd has gone.

use std::sync::Arc;
use std::time::Duration;

use crate::App;

/// Less than this is not worth the trouble.
const WORTH: usize = 16 << 20;

/// Looks now and then whether much was held that is free now. The allocator keeps freed memory for those to come; after many
/// large requests that can be most of it.
pub(crate) async fn give_back(app: Arc<App>) {
    let mut most = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let used = app.requests.used() + app.streams.used();
        most = most.max(used);
        if most >= WORTH && used < most / 4 {
            most = used;
            let _ = tokio::task::spawn_blocking(trim).await;
        }
    }
}

/// Gives free pages back, where the allocator can be asked to.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    unsafe extern "C" {
        fn malloc_trim(keep: usize) -> i32;
    }
    // SAFETY: a function of the C library without conditions; it locks what it touches.
    unsafe { malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
