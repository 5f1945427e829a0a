#include "sweep/run/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/numbers.h"
#include "base/own_program.h"
#include "base/random.h"
#include "measure/machine.h"
#include "record/sweep_file.h"

namespace evener::sweeps {
namespace {

namespace fs = std::filesystem;

/// Name, size and time of a file; the time in units of the file system.
std::string look_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) return file.filename().string() + " -";
  const auto time = fs::last_write_time(file, error).time_since_epoch().count();
  return fmt::format("{} {} {}", file.filename().string(), size, error ? 0 : time);
}

std::string looks_of_program() {
  std::string looks;
  for (const fs::path& file : program_files()) looks += look_of(file) + "\n";
  return looks;
}

/// Whether a file of a run's folder affects results. Other files, which commands such as report add to it, don't count.
bool is_of_run(const fs::path& file) {
  return file.extension() == ".safetensors" || file.extension() == ".onnx" || file.filename() == "record.json";
}

std::string looks_of_folder(const fs::path& folder) {
  std::error_code error;
  const bool is_run = fs::exists(folder / "record.json", error);
  std::vector<std::string> looks;
  const auto options = fs::directory_options::skip_permission_denied | fs::directory_options::follow_directory_symlink;
  for (auto entry = fs::recursive_directory_iterator(folder, options, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code none;
    if (!entry->is_regular_file(none) || (is_run && !is_of_run(entry->path()))) continue;
    looks.push_back(fs::relative(entry->path().parent_path(), folder, none).string() + "/" + look_of(entry->path()));
  }
  std::ranges::sort(looks);
  return fmt::format("{}\n", fmt::join(looks, "\n"));
}

/// The path that a word of a command line may name: the word itself, or the value of "--option=value".
std::string named_by(const std::string& word) {
  if (!word.starts_with("--")) return word;
  const std::size_t equals = word.find('=');
  return equals == std::string::npos ? "" : word.substr(equals + 1);
}

}  // namespace

std::string short_hash(const std::string& text) {
  return fmt::format("{:016x}", hash_text(text));
}

ProgramWatch::ProgramWatch() : seen_(looks_of_program()) {}

bool ProgramWatch::has_changed() const {
  return looks_of_program() != seen_;
}

std::string machine_identity() {
  const record::MachineRecord machine = measure::read_machine();
  return fmt::format("{}, {} cores, {} logical CPUs{}, {} bytes of memory, {}", machine.cpu, machine.cores,
                     machine.logical_cpus, machine.quota_cpus ? fmt::format(" (quota {:g})", *machine.quota_cpus) : "",
                     machine.memory_bytes, machine.kernel);
}

bool is_same_machine(const std::string& a, const std::string& b) {
  const auto parts_of = [](const std::string& text) {
    const std::size_t end = text.rfind(" bytes of memory"),
                      comma = end == std::string::npos ? end : text.rfind(',', end);
    if (comma == std::string::npos) return std::pair(text, std::uint64_t{0});
    const auto bytes = to_number<std::uint64_t>(std::string_view(text).substr(comma + 2, end - comma - 2));
    return std::pair(text.substr(0, comma), bytes.value_or(0));
  };
  const auto of_a = parts_of(a), of_b = parts_of(b);
  return of_a.first == of_b.first && record::is_same_memory(of_a.second, of_b.second);
}

std::string data_identity(const std::vector<std::string>& words) {
  std::string looks;
  for (const std::string& word : words) {
    const fs::path named = named_by(word);
    std::error_code error;
    if (named.empty() || !fs::exists(named, error)) continue;
    looks += named.string() + ": ";
    looks += fs::is_directory(named, error) ? looks_of_folder(named) : look_of(named) + "\n";
  }
  return looks.empty() ? "" : short_hash(looks);
}

}  // namespace evener::sweeps
