//! How a component is told to stop.

use tokio::sync::watch;

/// Tells every [`Shutdown`] made from it to stop, at the latest when it is dropped.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Resolves when the component that holds it is to stop.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// Makes both ends.
pub fn shutdown() -> (Stopper, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Shutdown(receiver))
}

impl Stopper {
    /// Tells everybody to stop.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Whether it is time to stop.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits until it is time to stop. May be dropped and called again.
    pub async fn stopped(&mut self) {
        // A dropped stopper stops as well.
        let _ = self.0.wait_for(|is_stopped| *is_stopped).await;
    }
}
