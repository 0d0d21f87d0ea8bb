//! Finding the runs of this user.

use hyperscale_api::{Client, Folder, Method, folder};
use serde::de::DeserializeOwned;

use super::{LocalError, folder_path};

/// A run that somebody listens for.
pub(crate) struct LocalRun {
    /// Its job id.
    pub(crate) job: String,
    client: Client,
}

impl LocalRun {
    /// Asks it for something.
    pub(crate) async fn call<T: DeserializeOwned>(&self, method: &Method) -> Result<T, LocalError> {
        let failed = |source| LocalError::Call { job: self.job.clone(), source };
        self.client.call(method).await.map_err(failed)
    }
}

/// All runs, oldest first: their ids begin with when they did.
pub(crate) async fn all() -> Result<Vec<LocalRun>, LocalError> {
    let folder = match Folder::open(&folder_path(), folder::user()) {
        Err(error) if error.is_absent() => return Ok(Vec::new()),
        opened => opened?,
    };
    let sockets = folder.sockets().await?;
    Ok(sockets.into_iter().map(|(job, path)| LocalRun { job, client: Client::unix(&path) }).collect())
}

/// The run that is meant: by its id or the beginning of it, or the only one.
pub(crate) async fn find(job: Option<&str>) -> Result<LocalRun, LocalError> {
    let mut runs = all().await?;
    let ids: Vec<String> = runs.iter().map(|run| run.job.clone()).collect();
    let at = match job {
        Some(job) => by_name(job, &ids)?,
        None => only(&ids)?,
    };
    Ok(runs.swap_remove(at))
}

fn by_name(job: &str, ids: &[String]) -> Result<usize, LocalError> {
    if let Some(at) = ids.iter().position(|id| id == job) {
        return Ok(at);
    }
    let matching: Vec<usize> = (0..ids.len()).filter(|at| ids[*at].starts_with(job)).collect();
    let job = job.to_owned();
    match matching[..] {
        [at] => Ok(at),
        [] => Err(LocalError::Unknown { job, runs: ids.to_owned() }),
        _ => Err(LocalError::Ambiguous { job, runs: matching.iter().map(|at| ids[*at].clone()).collect() }),
    }
}

fn only(ids: &[String]) -> Result<usize, LocalError> {
    match ids.len() {
        0 => Err(LocalError::NoRun { folder: folder_path() }),
        1 => Ok(0),
        _ => Err(LocalError::Several(ids.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> Vec<String> {
        ["run-1", "run-12", "run-2"].map(str::to_owned).to_vec()
    }

    #[test]
    fn whole_id_wins_over_one_that_begins_with_it() {
        assert_eq!(by_name("run-1", &ids()).unwrap(), 0);
    }

    #[test]
    fn beginning_that_fits_one_run_is_enough() {
        assert_eq!(by_name("run-12", &ids()).unwrap(), 1);
        assert!(
            matches!(by_name("run-", &ids()), Err(LocalError::Ambiguous { runs, .. }) if runs.len() == 3)
        );
        assert!(matches!(by_name("x", &ids()), Err(LocalError::Unknown { .. })));
    }

    #[test]
    fn only_run_needs_no_name() {
        assert_eq!(only(&ids()[..1]).unwrap(), 0);
        assert!(matches!(only(&ids()), Err(LocalError::Several(_))));
        assert!(matches!(only(&[]), Err(LocalError::NoRun { .. })));
    }
}
