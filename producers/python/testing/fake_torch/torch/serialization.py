def save(what, file):
    return file


def load(file):
    return [file]
