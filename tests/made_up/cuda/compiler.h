// CUDA C++ compiled for the CPU by g++.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace made_up::cuda {

/// Its text is what the compiler says.
class DoesNotCompile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A shared object (image.h) of the text called `name`. `definitions`: NAME or NAME=VALUE. Throws DoesNotCompile.
std::string compile(const std::string& text, const std::string& name, const std::vector<std::string>& definitions);

}  // namespace made_up::cuda
