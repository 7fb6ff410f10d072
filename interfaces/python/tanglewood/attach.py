"""Methods of the native classes that are written in Python."""


def method_of(cls):
    """Makes a function a method of a native class; a property where it is one already."""

    def attach(member):
        name = member.fget.__name__ if isinstance(member, property) else member.__name__
        setattr(cls, name, member)
        return member

    return attach
