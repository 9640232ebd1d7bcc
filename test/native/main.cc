#include "check.h"

int main(int count, char** words) { return quarry::test::RunAll(count, words); }
