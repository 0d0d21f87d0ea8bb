//! Transactions that are repeated when they lose against others.

/// How often a transaction that lost against others is repeated.
pub(super) const TRIES_MAX: u32 = 5;

/// Runs a transaction, and again if it lost against others.
macro_rules! transact {
    ($store:expr, |$tx:ident| $body:expr) => {{
        let mut tries = 1;
        loop {
            let mut client = $store.client().await?;
            let $tx = client.transaction().await?;
            let done: Result<_> = $body.await;
            let done = match done {
                Ok(value) => $tx.commit().await.map(|()| value).map_err(StoreError::from),
                Err(error) => Err(error),
            };
            match done {
                Err(StoreError::Contended(_)) if tries < $crate::store::postgres::transaction::TRIES_MAX => {
                    tries += 1
                }
                done => break done,
            }
        }
    }};
}

pub(super) use transact;
