// Reads LibTorch's exceptions. Their texts contain a C++ backtrace; users get the first line of the reason.
#pragma once

#include <c10/util/Exception.h>

#include <string>

namespace evener::engine::torch_engine {

inline std::string first_line(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

inline bool is_out_of_memory(const c10::Error& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr;
}

}  // namespace evener::engine::torch_engine
