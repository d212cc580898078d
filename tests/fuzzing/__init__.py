"""What reads files of others, under input that nobody meant: `make fuzz`, and a little of it in the tests."""
