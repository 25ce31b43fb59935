//! Two web servers: the built page under a sub-path, and somebody else's documentation that embeds it.

use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::Html;
use axum::routing::get;
use tower_http::cors::CorsLayer;
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::{Result, path_from_env};

/// The built page, published under a sub-path as a documentation site would.
pub struct Site {
    address: SocketAddr,
}

impl Site {
    /// Where the page is mounted.
    const PATH: &str = "/docs/tool";

    /// Serves the build that `TRAINMEM_DIST` names, with the CORS header that module scripts and wasm need in a
    /// sandboxed frame.
    ///
    /// # Errors
    /// When there is no build, or no port.
    pub async fn start() -> Result<Self> {
        let dist = path_from_env("TRAINMEM_DIST")?;
        anyhow::ensure!(dist.join("index.html").is_file(), "no index.html in {}", dist.display());
        Self::of(dist).await
    }

    /// Serves another folder; a `.br` or `.gz` beside a file is sent in its place, as a static host would.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn of(folder: PathBuf) -> Result<Self> {
        let files = ServeDir::new(folder).precompressed_br().precompressed_gzip();
        let router = Router::new().nest_service(Self::PATH, files).layer(CorsLayer::permissive());
        Ok(Self { address: serve(router).await? })
    }

    /// Serves the build with a content security policy.
    ///
    /// # Errors
    /// When there is no build, or no port.
    pub async fn with_policy(policy: &'static str) -> Result<Self> {
        let header =
            SetResponseHeaderLayer::overriding(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
        let files = ServeDir::new(path_from_env("TRAINMEM_DIST")?);
        Ok(Self { address: serve(Router::new().nest_service(Self::PATH, files).layer(header)).await? })
    }

    /// The address of the page (ends with a slash).
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}/", self.address, Self::PATH)
    }
}

/// A foreign page on an origin of its own.
pub struct Host {
    address: SocketAddr,
}

impl Host {
    /// Serves one HTML document.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn start(html: String) -> Result<Self> {
        let router = Router::new().fallback(get(|| async { Html(html) }));
        Ok(Self { address: serve(router).await? })
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/guide.html", self.address)
    }
}

async fn serve(router: Router) -> Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}
