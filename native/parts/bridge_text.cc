#include "bridge/lexicon.cc"
#include "bridge/text.cc"
