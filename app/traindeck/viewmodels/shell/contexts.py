"""The context menus of lists of objects, by what is selected in them."""

FILE, FOLDER, SEVERAL, BUCKET, NOTHING = (
    "objects.file", "objects.folder", "objects.several", "objects.bucket", "objects.nothing",
)  # fmt: skip
OBJECTS = (FILE, FOLDER, SEVERAL)
FOLDERS = (FOLDER, BUCKET, NOTHING)
ANYWHERE = (FILE, FOLDER, SEVERAL, BUCKET, NOTHING)
