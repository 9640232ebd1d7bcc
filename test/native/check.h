// A test is a function with a title. A failed check prints its location and makes the program exit with 1.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace quarry::test {

struct Test {
  const char* title;
  void (*run)();
  bool concurrent;
};

inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

inline int& Failures() {
  static int failures = 0;
  return failures;
}

struct Register {
  Register(const char* title, void (*run)(), bool concurrent) { Tests().push_back({title, run, concurrent}); }
};

// Usage: engine_test [--concurrent] [word]. Runs the tests whose titles contain the word; with --concurrent only those that
// use several threads.
inline int RunAll(int count, char** words) {
  const bool concurrentOnly = count > 1 && std::strcmp(words[1], "--concurrent") == 0;
  const int filterAt = concurrentOnly ? 2 : 1;
  const char* filter = count > filterAt ? words[filterAt] : "";
  int ran = 0;
  for (const Test& test : Tests()) {
    if (std::strstr(test.title, filter) == nullptr || (concurrentOnly && !test.concurrent)) continue;
    const int before = Failures();
    test.run();
    ran++;
    std::printf("%s - %s\n", Failures() == before ? "ok" : "not ok", test.title);
    std::fflush(stdout);
  }
  std::printf("%d tests, %d failed checks\n", ran, Failures());
  return Failures() == 0 && ran > 0 ? 0 : 1;
}

}  // namespace quarry::test

#define QUARRY_JOIN_(left, right) left##right
#define QUARRY_JOIN(left, right) QUARRY_JOIN_(left, right)
#define QUARRY_TEST_(title, name, concurrent)                                                  \
  static void name();                                                                          \
  static const quarry::test::Register QUARRY_JOIN(name, _registered)(title, name, concurrent); \
  static void name()
#define TEST(title) QUARRY_TEST_(title, QUARRY_JOIN(test_, __LINE__), false)

// A test that uses several threads. Only these tests run under the thread sanitizer, which makes a test many times slower
// and finds nothing in a single thread.
#define CONCURRENT_TEST(title) QUARRY_TEST_(title, QUARRY_JOIN(test_, __LINE__), true)

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      quarry::test::Failures()++;                                           \
    }                                                                       \
  } while (false)

// Like CHECK, but exits: for conditions on which the following lines depend.
#define REQUIRE(condition)                                                  \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::printf("%s:%d: required: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                         \
    }                                                                       \
  } while (false)
