"""Deploy targets: render a launch and parse it back. Each file is one entry point of ``dayzero.deploy_targets``."""
