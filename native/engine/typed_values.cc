#include "engine/typed_values.h"

#include <bit>
#include <cstddef>

namespace quarry {
namespace {

constexpr size_t kDayBytes = 10;
constexpr int64_t kDaySeconds = 86400;
constexpr size_t kDoubleBytes = 8;
constexpr size_t kAreaKindOffset = 1 + 2 * kDoubleBytes;
constexpr size_t kPointSphereOffset = 1 + 2 * kDoubleBytes;

uint64_t ReadBigEndian(std::string_view bytes, size_t offset, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; i++) value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

double ReadDouble(std::string_view bytes, size_t offset) {
  return std::bit_cast<double>(ReadBigEndian(bytes, offset, kDoubleBytes));
}

// Reads a double in ascending order: the sign bit is inverted, and all bits of a negative number are.
double ReadOrderedDouble(std::string_view bytes, size_t offset) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  const uint64_t ordered = ReadBigEndian(bytes, offset, kDoubleBytes);
  return std::bit_cast<double>((ordered & kSign) != 0 ? ordered ^ kSign : ~ordered);
}

// Days since 1970-01-01 in the proleptic Gregorian calendar.
int64_t DaysFromCivil(int64_t year, int64_t month, int64_t day) {
  // The year starts in March, so that the leap day is its last day.
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yearOfEra = y - era * 400;
  const int64_t dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int64_t dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear;
  return era * 146097 + dayOfEra - 719468;
}

int64_t DaysOfMonth(int64_t year, int64_t month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Reads the fields of a date from left to right. After the first mismatch, ok() is false.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : text_(text) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }

  int64_t Number(size_t digits, int64_t least, int64_t most) {
    int64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
      const char c = Peek();
      if (c < '0' || c > '9') {
        ok_ = false;
        return 0;
      }
      value = value * 10 + (c - '0');
      at_++;
    }
    ok_ = ok_ && value >= least && value <= most;
    return value;
  }

  void Expect(char expected) {
    if (Peek() == expected)
      at_++;
    else
      ok_ = false;
  }

  bool Skip(char first, char second) {
    if (AtEnd() || (Peek() != first && Peek() != second)) return false;
    at_++;
    return true;
  }

  // 1 to 9 digits.
  uint32_t Nanoseconds() {
    uint32_t value = 0;
    size_t digits = 0;
    for (; Peek() >= '0' && Peek() <= '9'; at_++, digits++) {
      if (digits == 9) ok_ = false;
      if (!ok_) return 0;
      value = value * 10 + static_cast<uint32_t>(Peek() - '0');
    }
    ok_ = ok_ && digits > 0;
    for (; digits < 9; digits++) value *= 10;
    return value;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

ValueType TypeOf(std::string_view value) {
  if (value.empty() || static_cast<uint8_t>(value[0]) < static_cast<uint8_t>(ValueType::kNumber)) {
    return ValueType::kString;
  }
  return static_cast<ValueType>(static_cast<uint8_t>(value[0]));
}

std::string_view StartOfType(ValueType type) {
  switch (type) {
    case ValueType::kString: return "";
    case ValueType::kNumber: return "\xf8";
    case ValueType::kBoolean: return "\xf9";
    case ValueType::kInstant: return "\xfa";
    case ValueType::kGeoPoint: return "\xfb";
    case ValueType::kArea: return "\xfc";
  }
  return "\xff";
}

std::string_view EndOfType(ValueType type) {
  switch (type) {
    case ValueType::kString: return StartOfType(ValueType::kNumber);
    case ValueType::kNumber: return StartOfType(ValueType::kBoolean);
    case ValueType::kBoolean: return StartOfType(ValueType::kInstant);
    case ValueType::kInstant: return StartOfType(ValueType::kGeoPoint);
    case ValueType::kGeoPoint: return StartOfType(ValueType::kArea);
    case ValueType::kArea: break;
  }
  return "\xff";
}

bool IsOperand(std::string_view value) {
  switch (TypeOf(value)) {
    case ValueType::kString: return true;
    case ValueType::kNumber: return value.size() == 1 + kDoubleBytes;
    case ValueType::kBoolean: return value.size() == 2;
    case ValueType::kInstant: return value.size() == kInstantBytes;
    case ValueType::kGeoPoint: return false;
    case ValueType::kArea:
      return (value.size() == kRadiusBytes && value[kAreaKindOffset] == 'r') ||
             (value.size() == kBoxBytes && value[kAreaKindOffset] == 'b');
  }
  return false;
}

std::optional<Instant> ParseDate(std::string_view text) {
  if (text.size() < kDayBytes) return std::nullopt;
  DateReader reader(text);
  const int64_t year = reader.Number(4, 0, 9999);
  reader.Expect('-');
  const int64_t month = reader.Number(2, 1, 12);
  reader.Expect('-');
  const int64_t day = reader.Number(2, 1, 31);
  if (!reader.ok() || day > DaysOfMonth(year, month)) return std::nullopt;
  Instant instant{DaysFromCivil(year, month, day) * kDaySeconds, 0};
  if (reader.AtEnd()) return instant;
  if (!reader.Skip('T', 't') && !reader.Skip(' ', ' ')) return std::nullopt;
  instant.seconds += reader.Number(2, 0, 23) * 3600;
  reader.Expect(':');
  instant.seconds += reader.Number(2, 0, 59) * 60;
  reader.Expect(':');
  instant.seconds += reader.Number(2, 0, 60);
  if (reader.Skip('.', '.')) instant.nanoseconds = reader.Nanoseconds();
  if (!reader.Skip('Z', 'z')) {
    const bool isWest = reader.Peek() == '-';
    if (!reader.Skip('+', '-')) return std::nullopt;
    int64_t offset = reader.Number(2, 0, 23) * 3600;
    reader.Expect(':');
    offset += reader.Number(2, 0, 59) * 60;
    instant.seconds += isWest ? offset : -offset;
  }
  if (!reader.ok() || !reader.AtEnd()) return std::nullopt;
  return instant;
}

Instant ToInstant(std::string_view instant) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return {static_cast<int64_t>(ReadBigEndian(instant, 1, 8) ^ kSign),
          static_cast<uint32_t>(ReadBigEndian(instant, 9, 4))};
}

std::string_view FirstDay(std::string_view instant) { return instant.substr(kInstantKeyBytes, kDayBytes); }
std::string_view LastDay(std::string_view instant) { return instant.substr(kInstantKeyBytes + kDayBytes, kDayBytes); }

std::string SouthOf(std::string_view area) {
  return std::string(StartOfType(ValueType::kGeoPoint)).append(area.substr(1, kDoubleBytes));
}

std::string NorthOf(std::string_view area) {
  return std::string(StartOfType(ValueType::kGeoPoint)).append(area.substr(1 + kDoubleBytes, kDoubleBytes));
}

bool IsInArea(std::string_view point, std::string_view area) {
  if (point.size() != kGeoPointBytes) return false;
  if (area[kAreaKindOffset] == 'b') {
    const double longitude = ReadOrderedDouble(point, kLatitudeKeyBytes);
    const double west = ReadDouble(area, kAreaKindOffset + 1);
    const double east = ReadDouble(area, kAreaKindOffset + 1 + kDoubleBytes);
    // A box across the antimeridian has its western longitude above the eastern one.
    return west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east;
  }
  double square = 0;
  for (size_t i = 0; i < 3; i++) {
    const double difference = ReadDouble(point, kPointSphereOffset + i * kDoubleBytes) -
                              ReadDouble(area, kAreaKindOffset + 1 + i * kDoubleBytes);
    // JavaScript rounds the product as well; -ffp-contract=off keeps compilers from fusing the two operations.
    square += difference * difference;
  }
  return square <= ReadDouble(area, kAreaKindOffset + 1 + 3 * kDoubleBytes);
}

}  // namespace quarry
