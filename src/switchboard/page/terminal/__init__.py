"""The page for terminals: `switchboard watch`.

Pure: `text`, `look`, `keys`, `passing`, `cutter`, `catalog`, `asking`, `model`, `listing`, `screen`, `viewing`.
Door: `tty`. Driver: `app`.
"""
