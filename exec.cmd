@rem npm's scripts begin with "exec", so that a signal to npm reaches the program. cmd.exe has no such command.
@%*
