// Identifies the data and the machine of a result, so that results of different ones are not mixed;
// base/own_program.h does it for the program.
#pragma once

#include <string>
#include <vector>

namespace evener::sweeps {

/// Notices that the program's files have changed since construction, by their sizes and times, which is cheap.
class ProgramWatch {
 public:
  ProgramWatch();
  bool has_changed() const;

 private:
  std::string seen_;
};

/// CPU, cores, memory and kernel of this machine, as text.
std::string machine_identity();
/// Whether two such texts are of the same machine (record::is_same_memory()); its kernel may be another.
bool is_same_machine(const std::string& a, const std::string& b);

/// A hash of the names, sizes and times of all files and folders that `words` of a command line name ("--data=photos/",
/// "a.jpg"). For the folder of a run only its networks and its record count. "" if nothing is named.
std::string data_identity(const std::vector<std::string>& words);

/// A hash of `text` as 16 hexadecimal digits, the same on every machine.
std::string short_hash(const std::string& text);

}  // namespace evener::sweeps
