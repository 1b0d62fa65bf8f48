"""Contract suites for members of your own, and toy problems to run them on. Import what you need from the modules here."""
