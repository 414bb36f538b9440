"""What did another tool measure, by which definition, and do its own records bear it out? One file a tool."""
