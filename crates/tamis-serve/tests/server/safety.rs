//! Tokens, hosts, headers, paths.

use std::io::Write;

use serde_json::json;

use super::client::{Connection, JSON, ask, get, post, problem};
use super::models::{Running, tree, usual};

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
fn a_request_names_its_host_once() {
    let server = Running::usual(|_| {});
    let public = Running::usual(|o| o.bind = "0.0.0.0:0".parse().unwrap());
    let say = |address: std::net::SocketAddr, head: &str| {
        let mut connection = Connection::open(([127, 0, 0, 1], address.port()).into()).unwrap();
        connection.stream.write_all(head.as_bytes()).unwrap();
        connection.reply().unwrap()
    };
    for server in [&server, &public] {
        problem(&say(server.address, "GET /healthz HTTP/1.1\r\n\r\n"), 400);
        problem(&say(server.address, "GET /v1/models HTTP/1.0\r\n\r\n"), 400);
        let twice = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n";
        assert!(problem(&say(server.address, twice), 400).contains("Host"));
    }
    // The first line counts more than the header.
    let named = |host: &str| format!("GET http://{host}/v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n");
    problem(&say(server.address, &named("evil.example")), 421);
    assert_eq!(say(server.address, &named("localhost")).status, 200);
}

#[test]
fn compressed_bodies_are_refused_with_the_reason() {
    let server = Running::usual(|_| {});
    for path in ["/v1/classify", "/v1/explain"] {
        let zipped = [JSON, ("content-encoding", "gzip")];
        let said = problem(&ask(server.address, "POST", path, &zipped, b"\x1f\x8b\x08\x00"), 415);
        assert!(said.contains("gzip") && said.contains("uncompressed"), "{said}");
        let plain = [JSON, ("content-encoding", "Identity")];
        assert_eq!(ask(server.address, "POST", path, &plain, b"{\"text\":\"puck\"}").status, 200);
    }
    let zipped = [("content-type", "application/x-ndjson"), ("content-encoding", "gzip")];
    problem(&ask(server.address, "POST", "/v1/classify", &zipped, b"\x1f\x8b\x08\x00"), 415);
}

#[test]
fn a_model_is_named_the_same_way_everywhere() {
    let bytes = tree().to_bytes().unwrap();
    let server = Running::with(&[("usual", usual()), ("tree", &bytes)], |_| {});
    let ask = |path: &str, model: &str| match path.split_once(' ') {
        None => get(server.address, &format!("{path}model={model}")),
        Some((kind, path)) => {
            let body = br#"{"text":"puck ice rink","label":"sport/hockey"}"#;
            let body = if path.contains("explain") { &body[..] } else { br#"{"text":"puck ice rink"}"# };
            ask(server.address, "POST", &format!("{path}model={model}"), &[("content-type", kind)], body)
        }
    };
    for path in [
        "/v1/labels?",
        "/v1/label?label=sport%2Fhockey&",
        "/v1/features?label=sport%2Fhockey&",
        "/v1/model?",
        "application/json /v1/classify?",
        "application/json /v1/explain?",
        "application/x-ndjson /v1/classify?top=1&",
    ] {
        assert!(problem(&ask(path, "other"), 404).contains("other"), "{path}");
        let (first, second) = (ask(path, "usual"), ask(path, "tree"));
        assert_eq!((first.status, second.status), (200, 200), "{path}");
        assert_ne!(first.text(), second.text(), "{path}");
    }
    problem(&get(server.address, "/v1/taxonomy?model=usual"), 404);
    assert_eq!(get(server.address, "/v1/taxonomy?model=tree").status, 200);
    // Two names that differ are a mistake.
    for path in ["/v1/classify", "/v1/explain"] {
        let asked = json!({ "model": "usual", "text": "puck" });
        assert!(problem(&post(server.address, &format!("{path}?model=tree"), &asked), 422).contains("usual"));
        assert_eq!(post(server.address, &format!("{path}?model=usual"), &asked).json()["model"], "usual");
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
