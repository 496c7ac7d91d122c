"""Rules for client libraries, judged on vectors."""
