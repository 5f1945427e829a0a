// The form of every C++ file is what clang-format makes of it. Its versions differ in details: only 14 is asked.
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/paths.h"
#include "base/test_folder.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersion = "clang-format version 14.";

struct Output {
  int status = -1;
  std::string text;  // stdout and stderr
};

Output run_shell(const std::string& command) {
  Output output;
  std::FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.text.append(buffer.data(), n);
  }
  output.status = pclose(pipe);
  return output;
}

std::string quoted(const fs::path& path) {
  return "'" + path.string() + "'";
}

/// The command that is version 14; "" if there is none.
std::string formatter() {
  for (const char* name : {"clang-format-14", "clang-format"}) {
    if (run_shell(std::string(name) + " --version").text.find(kVersion) != std::string::npos) return name;
  }
  return "";
}

/// All C++ files below the rooms of sources.
std::vector<fs::path> cpp_files() {
  std::vector<fs::path> files;
  for (const char* folder : {"bench", "examples", "include", "python", "src", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_folder() / folder)) {
      const std::string extension = entry.path().extension();
      const bool is_cpp = extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh";
      if (is_cpp && entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The files that clang-format would change, from its messages "FILE:LINE:COLUMN: error: code should be ...".
std::vector<std::string> misformatted(const std::string& messages) {
  std::vector<std::string> files;
  for (std::size_t at = 0; at < messages.size();) {
    const std::size_t end = std::min(messages.find('\n', at), messages.size());
    const std::string line = messages.substr(at, end - at);
    at = end + 1;
    if (line.find(": error: ") == std::string::npos) continue;
    const std::string file = line.substr(0, line.find(':'));
    if (files.empty() || files.back() != file) files.push_back(file);
  }
  return files;
}

/// Asks for all files in one call: starting the program costs more than a file.
Output check(const std::string& program, const std::vector<fs::path>& files) {
  std::string command = program + " --dry-run -Werror --style=file";
  for (const fs::path& file : files) command += " " + quoted(file);
  return run_shell(command);
}

TEST(Format, OfEveryFileIsWhatClangFormatMakes) {
  const std::string program = formatter();
  if (program.empty()) GTEST_SKIP() << "clang-format 14 is not installed";
  const std::vector<fs::path> files = cpp_files();
  EXPECT_GT(files.size(), 100U);
  const Output output = check(program, files);
  for (const std::string& file : misformatted(output.text)) {
    ADD_FAILURE() << "not formatted; repair it with  " << program << " -i " << file;
  }
  EXPECT_EQ(output.status, 0) << output.text.substr(0, 1000);
}

TEST(Format, OfAWrongFileIsNoticed) {
  const std::string program = formatter();
  if (program.empty()) GTEST_SKIP() << "clang-format 14 is not installed";
  const TestFolder folder;
  fs::copy_file(source_folder() / ".clang-format", folder / ".clang-format");
  write_text(folder / "right.cpp", "int one() {\n  return 1;\n}\n");
  write_text(folder / "wrong.cpp", "int  one( ){return 1;}\nint  two( ){return 2;}\n");
  const Output output = check(program, {folder / "right.cpp", folder / "wrong.cpp"});
  EXPECT_NE(output.status, 0);
  EXPECT_EQ(misformatted(output.text), std::vector<std::string>{(folder / "wrong.cpp").string()}) << output.text;
}

}  // namespace
}  // namespace evener::test
