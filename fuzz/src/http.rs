//! Bytes on a connection of the server: what is not HTTP, what is no request of ours, and bodies of all kinds.

use std::path::Path;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tamis_serve::{ModelSource, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::kinds::{self, Kind};

/// Most bytes in flight.
const PIPE: usize = 1 << 16;

const REQUESTS: [&str; 8] = [
    "POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 31\r\n\r\n{\"text\":\"a few words\",\"top\": 3}",
    "POST /v1/classify?top=2 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n23\r\n{\"documents\":[{\"id\":1,\"text\":\"a\"}]}\r\n0\r\n\r\n",
    "POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: 33\r\n\r\n{\"text\":\"a\"}\n{\"tokens\":[\"b\",\"c\"]}",
    "POST /v1/explain HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 25\r\n\r\n{\"text\":\"a few\",\"top\":10}",
    "GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "GET /v1/labels?model=m&top=3 HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n\r\n",
    "GET /metrics HTTP/1.0\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n",
];

/// The whole service of a small model behind a connection that is no socket.
pub(crate) fn kind(folder: &Path) -> Kind {
    let path = folder.join("m.model");
    std::fs::write(&path, &kinds::kind("models", folder).wholes[0]).unwrap();
    let mut options = Options::new(vec![ModelSource { name: "m".into(), path }]);
    options.bind = ([127, 0, 0, 1], 0).into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let router = runtime.block_on(tamis_serve::listen(options)).unwrap().service();
    let case = move |bytes: &[u8]| {
        runtime.block_on(async {
            let (mut client, server) = tokio::io::duplex(PIPE);
            let serve =
                http1::Builder::new().serve_connection(TokioIo::new(server), TowerToHyperService::new(router.clone()));
            let talk = async {
                let (mut read, mut write) = tokio::io::split(&mut client);
                let mut answer = Vec::new();
                let send = async {
                    // Refused halfway is an answer too.
                    let _ = write.write_all(bytes).await;
                    let _ = write.shutdown().await;
                };
                let (_, read) = tokio::join!(send, read.read_to_end(&mut answer));
                read.unwrap();
                answer
            };
            let (_, answer) = tokio::join!(serve, talk);
            assert!(!answer.starts_with(b"HTTP/1.1 500"), "{}", String::from_utf8_lossy(&answer));
            answer.starts_with(b"HTTP/1.1 200")
        })
    };
    Kind { wholes: REQUESTS.iter().map(|r| r.as_bytes().to_vec()).collect(), case: Box::new(case) }
}
