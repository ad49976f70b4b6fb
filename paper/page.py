def write(run):
    pass
