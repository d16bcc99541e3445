//! Tokens, hosts, headers, paths.

use serde_json::json;

use super::client::{JSON, ask, get, post, problem};
use super::models::Running;

const TOKEN: &str = "correct-horse-battery-staple";

#[test]
fn a_token_is_wanted_where_there_is_something_to_see() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report.html"), "<!doctype html><p>report").unwrap();
    let study = folder.path().to_owned();
    let server = Running::usual(|o| {
        o.token = Some(TOKEN.to_owned());
        o.study = Some(study);
    });
    let bearer = format!("Bearer {TOKEN}");
    for path in ["/v1/models", "/v1/model", "/v1/server", "/metrics", "/study/report.html"] {
        let reply = get(server.address, path);
        problem(&reply, 401);
        assert_eq!(reply.header("www-authenticate"), "Bearer");
        for wrong in
            ["Bearer correct-horse-battery-stapl", "Bearer", "Basic correct", "Bearer correct-horse-battery-staplee"]
        {
            problem(&ask(server.address, "GET", path, &[("authorization", wrong)], b""), 401);
        }
        assert_eq!(ask(server.address, "GET", path, &[("authorization", &bearer)], b"").status, 200, "{path}");
    }
    problem(&post(server.address, "/v1/classify", &json!({ "text": "puck" })), 401);
    for path in ["/", "/main.js", "/style.css", "/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(get(server.address, path).status, 200, "{path}");
    }
    // The frame of the report cannot send a header: a cookie stands for the token there, and nowhere else.
    let reply = ask(server.address, "GET", "/v1/server", &[("authorization", &bearer)], b"");
    let cookie = reply.header("set-cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/study/"),
        "{cookie}"
    );
    assert!(!cookie.contains(TOKEN));
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(ask(server.address, "GET", "/study/report.html", &[("cookie", cookie)], b"").status, 200);
    problem(&ask(server.address, "GET", "/v1/models", &[("cookie", cookie)], b""), 401);
}

#[test]
fn other_names_for_this_machine_are_refused() {
    let server = Running::usual(|o| o.hosts = vec!["labels.example".into()]);
    let with = |host: &str| ask(server.address, "GET", "/v1/models", &[("host", host)], b"");
    for host in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:80", "LABELS.example", "127.9.9.9"] {
        assert_eq!(with(host).status, 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "evil.example:8080", "10.0.0.1", ""] {
        problem(&with(host), 421);
    }
}

#[test]
fn every_answer_has_the_headers() {
    let server = Running::usual(|_| {});
    for path in ["/", "/main.js", "/v1/models", "/nothing", "/v1/label", "/healthz"] {
        let reply = get(server.address, path);
        let policy = reply.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(reply.header("referrer-policy"), "no-referrer", "{path}");
        assert!(!reply.header("x-request-id").is_empty(), "{path}");
        assert!(reply.header("access-control-allow-origin").is_empty(), "{path}");
    }
    let id = |given: &str| {
        ask(server.address, "GET", "/healthz", &[("x-request-id", given)], b"").header("x-request-id").to_owned()
    };
    assert_eq!(id("my-id.7"), "my-id.7");
    assert_ne!(id("a b\"c"), "a b\"c");
    assert_ne!(id(&"x".repeat(65)), "x".repeat(65));
}

#[test]
fn no_path_of_the_disk_can_be_reached() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("study")).unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    std::fs::write(folder.path().join("study/rows.csv"), "secret").unwrap();
    std::fs::write(folder.path().join("study/report.html"), "<p>report").unwrap();
    let study = folder.path().join("study");
    let server = Running::usual(|o| o.study = Some(study));
    for path in [
        "/study/../secret",
        "/study/rows.csv",
        "/study/%2e%2e/secret",
        "/..%2fsecret",
        "/usual.model",
        "/Cargo.toml",
        "/study/report.html/../rows.csv",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/page/main.js",
        "/study/",
    ] {
        let reply = get(server.address, path);
        assert_eq!(reply.status, 404, "{path}");
        assert!(!reply.text().contains("secret\""), "{path}: {}", reply.text());
    }
    let report = get(server.address, "/study/report.html");
    assert_eq!((report.status, report.text().as_str()), (200, "<p>report"));
    assert!(report.header("content-security-policy").ends_with("sandbox"));
    // What is missing is said without a path.
    std::fs::remove_file(folder.path().join("study/report.html")).unwrap();
    let gone = problem(&get(server.address, "/study/report.html"), 404);
    assert!(!gone.contains(folder.path().to_str().unwrap()), "{gone}");
}

#[test]
fn files_of_the_page_are_asked_for_once() {
    let server = Running::usual(|_| {});
    let first = get(server.address, "/main.js");
    assert_eq!(first.header("content-type"), "text/javascript; charset=utf-8");
    let tag = first.header("etag").to_owned();
    let again = ask(server.address, "GET", "/main.js", &[("if-none-match", &tag)], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
    let head = ask(server.address, "GET", "/", &[JSON], b"");
    assert!(head.text().starts_with("<!doctype html>"));
    // Nothing on the page comes from elsewhere, and nothing in it is inline.
    for file in [
        "index.html",
        "style.css",
        "main.js",
        "try.js",
        "words.js",
        "label.js",
        "tree.js",
        "scores.js",
        "dom.js",
        "api.js",
    ] {
        let text = get(server.address, &format!("/{file}")).text();
        assert!(!text.is_empty(), "{file}");
        let outside = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http://") && !outside.contains("https://"), "{file} reaches out");
        for dangerous in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=", "<style"]
        {
            assert!(!text.contains(dangerous), "{file} has {dangerous}");
        }
    }
}
