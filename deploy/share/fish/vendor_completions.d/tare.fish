# fish reads this file when "tare" is first completed. The function is click's own, of the version that is installed.
_TARE_COMPLETE=fish_source tare | source
