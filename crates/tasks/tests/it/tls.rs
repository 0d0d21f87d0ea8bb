//! TLS to a real PostgreSQL server, whose certificate is made here.

use hyperscale_tasks::domain::Status;
use hyperscale_tasks::runtime::Executors;
use hyperscale_tasks::runtime::executors::Sql;
use hyperscale_tasks::store::Store as _;
use hyperscale_tasks::store::postgres::{PostgresOptions, PostgresStore};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;

use crate::executors::Node;
use crate::server::Server;

/// An authority, and the certificate and key of a server named `localhost`.
struct Certificates {
    authority: String,
    certificate: String,
    key: String,
}

fn certificates() -> Certificates {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = server.signed_by(&key, &issuer).unwrap().pem();
    Certificates { authority, certificate, key: key.serialize_pem() }
}

#[tokio::test]
async fn postgres_is_reached_over_tls_as_its_mode_says() {
    let (ours, others) = (certificates(), certificates());
    let server = Server::start_with_tls(&ours.certificate, &ours.key).await;
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good.pem"), folder.path().join("bad.pem"));
    std::fs::write(&good, ours.authority).unwrap();
    std::fs::write(&bad, others.authority).unwrap();
    let node = Node::start(Executors::default().with(Sql)).await;
    let port = server.port();
    let (good, bad) = (good.display(), bad.display());
    for (host, tls, encrypted) in [
        ("localhost", "sslmode=disable".to_owned(), Some(false)),
        ("localhost", "sslmode=prefer".to_owned(), Some(true)),
        ("127.0.0.1", "sslmode=require".to_owned(), Some(true)),
        ("localhost", format!("sslmode=verify-full&sslrootcert={good}"), Some(true)),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={good}"), Some(true)),
        // The certificate is for another name, or of an authority that is not trusted.
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={good}"), None),
        ("localhost", format!("sslmode=verify-ca&sslrootcert={bad}"), None),
        ("localhost", format!("sslmode=require&sslrootcert={bad}"), None),
        ("localhost", "sslmode=verify-full&sslrootcert=system".to_owned(), None),
    ] {
        let url = format!("postgres://postgres@{host}:{port}/postgres?{tls}");
        let store = PostgresStore::open(PostgresOptions::new(&url).unwrap()).await;
        match &store {
            Ok(store) => assert!(store.now().await.is_ok() && encrypted.is_some(), "{url}"),
            Err(error) => assert!(encrypted.is_none(), "{url}: {error}"),
        }
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let task = node.run("sql", json!({"database": url, "statements": [sql], "once": false})).await;
        if let Some(encrypted) = encrypted {
            let result = task.result.unwrap_or_else(|| panic!("{url}: {:?}", task.error));
            assert_eq!(result["rows"], json!([{"ssl": encrypted}]), "{url}");
        } else {
            assert_eq!(task.status, Status::Failed, "{url}");
            assert!(task.error.as_ref().unwrap().contains("certificate"), "{url}: {:?}", task.error);
        }
    }
}
