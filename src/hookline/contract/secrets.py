"""The names that usually belong to secrets."""

# Patterns over whole names of JSON keys, variables and options; upper and lower case are the same.
SECRET_NAMES = (
    "*TOKEN*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*API_KEY*",
    "*API-KEY*",
    "*APIKEY*",
    "*PRIVATE_KEY*",
    "*CREDENTIAL*",
    "*AUTHORIZATION*",
)
