"""Stand-ins for what is outside: each implements the port that the code asks for."""
