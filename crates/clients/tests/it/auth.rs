//! Authentication: digest challenges, OAuth 2 tokens.

use std::time::Duration;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Auth, OAuth2};
use hyperscale_target::Running;
use hyperscale_types::ErrorKind;
use tokio::task::LocalSet;

use super::support::{Act, Client, Server, answer, body, get, moved, ok, template};
use super::target::{kind, start, url};

/// Longest time that anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_digest_challenge_is_answered_once_and_remembered() {
    let target = start(|_| {});
    for algorithm in ["MD5", "SHA-256", "MD5-sess", "SHA-256-sess"] {
        let client = Client::new();
        let mut request = get(&url(&target, &format!("/digest-auth/me/secret?algorithm={algorithm}")));
        request.auth = Some(Auth::Digest { user: template("me"), password: template("secret") });
        let prepared = client.prepare(&request).await;
        let first = client.call(&prepared).await;
        assert_eq!((first.status.unwrap_or_default(), kind(&first)), (200, None), "{algorithm}");
        assert_eq!(client.progress.requests(), 2, "the challenge is a round trip");
        let second = client.call(&prepared).await;
        assert_eq!((second.status.unwrap_or_default(), kind(&second)), (200, None), "{algorithm}");
        assert_eq!(client.progress.requests(), 3, "the nonce is used again");
    }
}

#[tokio::test]
async fn a_stale_nonce_is_replaced_and_a_wrong_password_is_not_tried_for_ever() {
    let target = start(|_| {});
    let client = Client::new();
    let mut request = get(&url(&target, "/digest-auth/me/secret?uses=1"));
    request.cookies = vec![("own".parse().expect("a name"), template("1"))];
    request.auth = Some(Auth::Digest { user: template("me"), password: template("secret") });
    let prepared = client.prepare(&request).await;
    for requests in [2, 4] {
        assert_eq!(kind(&client.call(&prepared).await), None);
        assert_eq!(client.progress.requests(), requests);
    }
    let client = Client::new();
    request.auth = Some(Auth::Digest { user: template("me"), password: template("wrong") });
    let outcome = client.once(&request).await;
    assert_eq!((outcome.status.unwrap_or_default(), kind(&outcome)), (401, Some(ErrorKind::Status)));
    assert_eq!(client.progress.requests(), 2);
}

const CHALLENGE: &str = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\ncontent-length: 0\r\n\r\n";

fn with_digest(url: &str) -> HttpRequest {
    let auth = Some(Auth::Digest { user: template("me"), password: template("secret") });
    HttpRequest { auth, ..get(url) }
}

/// The fields `authorization` of requests, in order.
fn authorizations(requests: &[Vec<String>]) -> Vec<Option<String>> {
    let field = |request: &String| {
        request.lines().find_map(|line| line.strip_prefix("authorization: ").map(str::to_owned))
    };
    requests.iter().flatten().map(field).collect()
}

#[tokio::test]
async fn every_hop_at_the_same_origin_answers_the_challenge_for_itself() {
    let hops = [CHALLENGE.to_owned(), moved("/second"), ok("there")];
    let server = Server::one(hops.iter().flat_map(|text| answer(text))).await;
    let outcome = Client::new().once(&with_digest(&server.url("/first"))).await;
    assert_eq!((outcome.status, kind(&outcome)), (Some(200), None));
    let seen = authorizations(&server.requests().await);
    let part = |at: usize, wanted: &str| {
        let value = seen[at].clone().unwrap_or_default();
        assert!(value.contains(wanted), "{at}: no {wanted} in {value}");
    };
    assert_eq!(seen[0], None);
    part(1, "uri=\"/first\"");
    part(1, "nc=00000001");
    part(2, "uri=\"/second\"");
    part(2, "nc=00000002");
}

#[tokio::test]
async fn a_challenge_of_another_origin_is_never_answered() {
    // A → B → B: the second hop stays at an origin, which is not the first one's.
    let other =
        Server::one([moved("/again"), CHALLENGE.to_owned()].iter().flat_map(|text| answer(text))).await;
    let first = Server::one(answer(&moved(&other.url("/")))).await;
    let outcome = Client::new().once(&with_digest(&first.url("/"))).await;
    assert_eq!((outcome.status, kind(&outcome)), (Some(401), Some(ErrorKind::Status)));
    assert_eq!(authorizations(&first.requests().await), [None]);
    assert_eq!(authorizations(&other.requests().await), [None, None], "and no third request");
}

#[tokio::test]
async fn an_origin_that_a_redirect_leads_to_gets_no_credentials_though_it_has_asked_before() {
    let texts = [CHALLENGE.to_owned(), ok("for itself"), ok("for the other")];
    let other = Server::one(texts.iter().flat_map(|text| answer(text))).await;
    let first = Server::one(answer(&moved(&other.url("/")))).await;
    let client = Client::new();
    assert_eq!(client.once(&with_digest(&other.url("/"))).await.status, Some(200));
    assert_eq!(client.once(&with_digest(&first.url("/"))).await.status, Some(200));
    let seen = authorizations(&other.requests().await);
    assert_eq!(seen.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false]);
}

fn oauth(target: &Running, path: &str, secret: &str) -> Auth {
    Auth::OAuth2(Box::new(OAuth2 {
        token_url: url(target, path),
        client_id: "me".to_owned(),
        client_secret: secret.to_owned(),
        scopes: vec!["read".to_owned()],
        refresh_token: None,
    }))
}

#[tokio::test]
async fn a_token_is_fetched_in_preparation_and_shared() {
    LocalSet::new()
        .run_until(async {
            let target = start(|_| {});
            let client = Client::new();
            let mut request = get(&url(&target, "/bearer"));
            request.auth = Some(oauth(&target, "/oauth/token", "secret"));
            let (one, two) = (client.prepare(&request).await, client.prepare(&request).await);
            let (first, second) = (client.call(&one).await, client.call(&two).await);
            assert_eq!((first.status.unwrap_or_default(), second.status.unwrap_or_default()), (200, 200));
            assert_eq!(body(&first), body(&second), "one token for both");
            assert_eq!(client.progress.requests(), 2, "fetching is not measured");
            assert_eq!(target.handle().settled_stats().await.requests, 3);
        })
        .await;
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires_outside_of_calls() {
    LocalSet::new()
        .run_until(async {
            let target = start(|_| {});
            let client = Client::new();
            let mut request = get(&url(&target, "/bearer"));
            request.auth = Some(oauth(&target, "/oauth/token?expires_in=1", "secret"));
            let prepared = client.prepare(&request).await;
            let first = body(&client.call(&prepared).await);
            let renewed = || target.handle().stats().requests >= 3;
            let wait = async {
                while !renewed() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            tokio::time::timeout(PATIENCE, wait).await.expect("a renewal in time");
            // The renewal's answer is on its way; until it is here the old token is still good.
            let mut second = body(&client.call(&prepared).await);
            while second == first {
                second = body(&client.call(&prepared).await);
            }
            assert!(second.contains("\"authenticated\":true"), "{second}");
        })
        .await;
}

#[tokio::test]
async fn cores_of_a_process_share_a_token_and_its_renewals() {
    LocalSet::new()
        .run_until(async {
            let target = start(|_| {});
            let mut request = get(&url(&target, "/bearer"));
            request.auth = Some(oauth(&target, "/oauth/token?expires_in=2", "secret"));
            // Each client stands for a core.
            let (one, two) = (Client::new(), Client::new());
            let prepared = tokio::join!(one.prepare(&request), two.prepare(&request));
            assert_eq!(target.handle().stats().requests, 1, "one of them has asked for both");
            let first = body(&one.call(&prepared.0).await);
            assert_eq!(body(&two.call(&prepared.1).await), first);
            let calls = async |client: &Client, prepared| {
                let mut calls = 0;
                while body(&client.call(prepared).await) == first {
                    calls += 1;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                calls + 1
            };
            let calls = async { tokio::join!(calls(&one, &prepared.0), calls(&two, &prepared.1)) };
            let calls = tokio::time::timeout(PATIENCE, calls).await.expect("a renewal in time");
            let second = (body(&one.call(&prepared.0).await), body(&two.call(&prepared.1).await));
            assert_eq!(second.0, second.1, "both have the renewed one");
            let asked = target.handle().settled_stats().await.requests - (2 + calls.0 + calls.1 + 2);
            assert_eq!(asked, 2, "fetched once, renewed once");
        })
        .await;
}

/// An answer of a token endpoint, after which the connection is closed.
fn token_answer(status: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    answer(&format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"))
        .into()
}

#[tokio::test(start_paused = true)]
async fn a_newer_refresh_token_outlives_a_renewal_that_failed() {
    let granted = |token: &str, refresh: &str| {
        let body = format!(r#"{{"access_token":"{token}","expires_in":10,"refresh_token":"{refresh}"}}"#);
        token_answer("200 OK", &body)
    };
    let failed = token_answer("503 Service Unavailable", "later");
    let refused = token_answer("400 Bad Request", r#"{"error":"invalid_grant"}"#);
    LocalSet::new()
        .run_until(async {
            let server = Server::start(vec![
                granted("a", "newer"),
                failed,
                granted("b", "newest"),
                refused,
                granted("c", "last"),
            ])
            .await;
            let client = Client::new();
            let mut request = get(&server.url("/"));
            request.auth = Some(Auth::OAuth2(Box::new(OAuth2 {
                token_url: server.url("/token"),
                client_id: "me".to_owned(),
                client_secret: "secret".to_owned(),
                scopes: vec![],
                refresh_token: Some("old".to_owned()),
            })));
            let _prepared = client.prepare(&request).await;
            let seen = server.requests().await.concat();
            let used = |request: &str| {
                let form = request.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned();
                form.split('&').find_map(|field| field.strip_prefix("refresh_token=").map(str::to_owned))
            };
            let used: Vec<_> = seen.iter().map(|request| used(request).unwrap_or_default()).collect();
            assert_eq!(used, ["old", "newer", "newer", "newest", "old"]);
        })
        .await;
}

#[tokio::test]
async fn no_token_means_no_preparation() {
    let target = start(|_| {});
    let client = Client::new();
    let mut request = get(&url(&target, "/bearer"));
    let prepare = async |request: &HttpRequest| client.try_prepare(request).await.err().expect("no token");
    request.auth = Some(oauth(&target, "/oauth/token", "wrong"));
    let error = prepare(&request).await;
    assert!(error.to_string().contains("invalid_client") && !error.is_unreachable, "{error}");
    target.stop();
    let error = prepare(&request).await;
    assert!(error.is_unreachable && error.to_string().starts_with("no token from "), "{error}");
}
