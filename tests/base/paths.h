// Where the tests find the repository and the program. Only paths.cpp is compiled with these paths: in every object
// they would keep two copies of the repository from sharing what a compiler cache holds.
#pragma once

#include <filesystem>
#include <string>

namespace evener::test {

std::filesystem::path source_folder();
std::string program_path();

}  // namespace evener::test
