"""What does one text say?"""
