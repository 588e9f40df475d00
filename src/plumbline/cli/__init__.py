"""What can be asked for on a command line?"""
