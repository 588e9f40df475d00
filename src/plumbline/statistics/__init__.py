"""How much could a score have missed?"""
