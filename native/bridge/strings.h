#pragma once

#include <napi.h>

#include <string>
#include <string_view>

namespace quarry {

// Copies the UTF-16 units of a string to *units, which costs a fraction of reading them in place. The view is
// valid as long as *units is unchanged.
std::u16string_view UnitsOf(Napi::Env env, napi_value value, std::u16string* units);

}  // namespace quarry
