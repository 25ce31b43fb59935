//! Mounts the page in a browser; is the command line elsewhere.

#[cfg(target_arch = "wasm32")]
fn main() {
    trainmem::app::run();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    trainmem::cli::main()
}
