// Values of attributes other than strings, as bytes whose order is the order of the values. The first byte is the type;
// no UTF-8 text starts with it, so strings are ordered before all other values.
//
//   number    0xf8, then the double: 8 bytes in ascending order
//   boolean   0xf9, then 0 or 1
//   geo point 0xfb, latitude and longitude as doubles in ascending order, then the point on the unit sphere as three
//             big-endian doubles (x, y, z)
//
// Operands of filters may also be:
//
//   instant   0xfa, then the seconds since the epoch as i64 in ascending order and the nanoseconds as u32; then the
//             first and the last day on which a date with this instant may begin, each as YYYY-MM-DD
//   area      0xfc, the southern and the northern latitude in ascending order, then 'r' and four big-endian doubles: the
//             center on the unit sphere and the greatest square of the distance to it; or 'b' and two big-endian doubles:
//             the western and the eastern longitude
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry {

enum class ValueType : uint8_t {
  kString = 0,
  kNumber = 0xf8,
  kBoolean = 0xf9,
  kInstant = 0xfa,
  kGeoPoint = 0xfb,
  kArea = 0xfc,
};

// Bytes of an instant that are compared: the type, the seconds and the nanoseconds.
inline constexpr size_t kInstantKeyBytes = 13;
inline constexpr size_t kInstantBytes = kInstantKeyBytes + 20;
// Bytes of the type and the latitude of a point or area.
inline constexpr size_t kLatitudeKeyBytes = 9;
inline constexpr size_t kGeoPointBytes = 41;
inline constexpr size_t kRadiusBytes = 50;
inline constexpr size_t kBoxBytes = 34;

ValueType TypeOf(std::string_view value);

// Returns the least text that is above all values of the type.
std::string_view EndOfType(ValueType type);
// Returns the least text of the type.
std::string_view StartOfType(ValueType type);

// Whether an operand of a filter is well formed.
bool IsOperand(std::string_view value);

// A point in time.
struct Instant {
  int64_t seconds = 0;  // since the epoch
  uint32_t nanoseconds = 0;

  auto operator<=>(const Instant&) const = default;
};

// Parses an RFC 3339 date: a `full-date` or a `date-time`. Returns none for any other string.
std::optional<Instant> ParseDate(std::string_view text);

// Decodes an operand that is an instant.
Instant ToInstant(std::string_view instant);

// The first and the last day of an instant, which bound the strings to compare with it.
std::string_view FirstDay(std::string_view instant);
std::string_view LastDay(std::string_view instant);

// Bounds of the latitude of an area, as the first kLatitudeKeyBytes of a geo point.
std::string SouthOf(std::string_view area);
std::string NorthOf(std::string_view area);
// Whether the point, whose latitude is within the bounds, is in the area.
bool IsInArea(std::string_view point, std::string_view area);

}  // namespace quarry
