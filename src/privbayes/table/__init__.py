"""Tables in and out: frames and files, all as Arrow columns."""
