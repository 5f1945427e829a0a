// evener doctor: devices, modules, sensors and placements: what works, what does not, why, and how to fix it.
#include "options/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "comm/device_communicator.h"
#include "data/video/ffmpeg.h"
#include "measure/energy_meter.h"
#include "measure/peaks.h"
#include "measure/sensors/open_sensors.h"
#include "options/output.h"
#include "options/progress_line.h"
#include "placement/machine.h"
#include "placement/plan.h"

namespace evener::app {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using placement::AcceleratorList;
using placement::Machine;

enum class Mark { kOk, kNote, kMissing };

const char* mark_name(Mark mark) {
  constexpr const char* kNames[] = {"ok", "note", "missing"};
  return kNames[static_cast<std::size_t>(mark)];
}

/// Of a device, module, sensor or placement.
struct Finding {
  Mark mark = Mark::kOk;
  std::string name;    // "torch"
  std::string text;    // what it is, or why it isn't
  std::string remedy;  // what to do; may be empty
};

struct Section {
  std::string title;
  std::vector<Finding> findings;
};

struct Diagnosis {
  std::vector<Section> sections;
  bool can_train_on_cpu = false;
  std::string conclusion;
};

Finding check_cpu(const Machine& machine) {
  const CpuTopology& cpu = machine.cpu;
  Finding finding{Mark::kOk, "cpu", "", ""};
  finding.text = fmt::format("{}, {} and {} for this process", cpu.model, counted(cpu.cores.size(), "core"),
                             counted(cpu.allowed.size(), "hardware thread"));
  if (cpu.packages > 1 || cpu.numa_nodes > 1) {
    finding.text += fmt::format(", {}, {}", counted(cpu.packages, "package"), counted(cpu.numa_nodes, "NUMA node"));
  }
  if (cpu.quota_cpus > 0) {
    finding.text += fmt::format(", of which a quota allows {:.3g} ({} used)", cpu.quota_cpus, machine.cores);
  }
  return finding;
}

/// Work is cut into equal pieces.
Finding check_kinds(const Machine& machine) {
  const auto fastest = placement::fastest_cores(machine);
  if (!fastest) return {Mark::kOk, "kinds of cores", kinds_text(machine.cpu.kinds), ""};
  return {Mark::kNote, "kinds of cores", kinds_text(machine.cpu.kinds),
          fmt::format("on all cores the fast ones wait for the slow ones: --on cpu/t{} may be faster; evener plan and "
                      "--on auto try it",
                      *fastest)};
}

Finding check_features(const CpuTopology& cpu) {
  const std::string list = fmt::format("{}", fmt::join(cpu.features, " "));
  if (cpu.features.empty())
    return {Mark::kNote, "instructions", "no AVX2: expect slow training", "use a newer machine or a GPU"};
  if (!has_fast_bf16(cpu.features))
    return {Mark::kOk, "instructions", list + "; no bf16, so --precision fp32 is the fastest", ""};
  return {Mark::kOk, "instructions", list, ""};
}

Finding check_memory(const MemoryLimits& memory) {
  constexpr unsigned long long kLittle = 2'000'000'000;
  const std::string text =
      fmt::format("{}, {} available{}", bytes_text(memory.total_bytes), bytes_text(memory.available_bytes),
                  memory.limit.empty() ? "" : ", by " + memory.limit);
  if (memory.available_bytes >= kLittle) return {Mark::kOk, "memory", text, ""};
  return {Mark::kNote, "memory", text, "close other programs, or use small batches and images"};
}

void check_accelerators(Section& section, const std::string& kind, const AcceleratorList& list) {
  for (const auto& device : list.devices) {
    std::string text = device.name;
    if (device.memory_bytes > 0) text += ", " + bytes_text(device.memory_bytes);
    if (device.compute_major > 0)
      text += fmt::format(", compute capability {}.{}", device.compute_major, device.compute_minor);
    if (!list.driver.empty()) text += ", " + list.driver;
    const bool usable = device.problem.empty();
    section.findings.push_back({usable ? Mark::kOk : Mark::kMissing, device_text(device.device), text, device.problem});
  }
  if (list.devices.empty()) section.findings.push_back({Mark::kMissing, kind, list.reason, list.remedy});
}

// The reason out of a three-line placement error, without the remedy that stands with the device.
std::string reason_of(const UsageError& error) {
  std::string text = error.what();
  text = text.substr(0, text.find_first_of("\n;"));
  const auto colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

Finding check_placement(const std::string& text, const Machine& machine, bool engine_usable) {
  try {
    const auto plan = placement::make_plan(placement::parse(text), machine);
    const std::string why = placement::why_not_runnable(plan);
    if (!why.empty()) return {Mark::kNote, text, why.substr(why.find(": ") + 2), ""};
    if (!engine_usable) return {Mark::kMissing, text, "no engine here can train (see Modules)", ""};
    for (const auto& [kind, module] :
         {std::pair{DeviceKind::kCuda, "torch_cuda"}, std::pair{DeviceKind::kOpencl, "native_opencl"}}) {
      const bool used = std::ranges::any_of(plan.replicas, [kind = kind](const placement::PlanReplica& replica) {
        return replica.stages.front().device.kind == kind;
      });
      if (!used || module_status(module).state == ModuleState::kUsable) continue;
      return {Mark::kMissing, text, fmt::format("the module '{}' can't be used (see Modules)", module), ""};
    }
    const auto& stage = plan.replicas.front().stages.front();
    if (stage.device.kind == DeviceKind::kOpencl) return {Mark::kOk, text, "perceptrons (--engine native)", ""};
    const int threads = stage.threads;
    return {Mark::kOk, text, counted(threads, "thread"), ""};
  } catch (const UsageError& error) {
    return {Mark::kMissing, text, reason_of(error), ""};
  }
}

Section check_devices(const Machine& machine) {
  Section section{"Devices", {check_cpu(machine)}};
  if (!machine.cpu.kinds.empty()) section.findings.push_back(check_kinds(machine));
  section.findings.push_back(check_features(machine.cpu));
  section.findings.push_back(check_memory(machine.memory));
  check_accelerators(section, "cuda", machine.cuda);
  check_accelerators(section, "opencl", machine.opencl);
  check_accelerators(section, "intel", machine.intel);
  check_accelerators(section, "npu", machine.npu);
  return section;
}

/// Asked after the module torch_cuda, which brings NCCL along.
Finding check_device_groups() {
  const std::string why = comm::why_no_device_groups();
  if (why.empty()) return {Mark::kOk, "nccl", "NCCL " + comm::device_group_version(), ""};
  return {Mark::kMissing, "nccl", "GPUs exchange gradients through host memory: " + why, ""};
}

/// No module, but the programs by which videos and cameras are read.
Finding check_ffmpeg() {
  const data::FfmpegState state = data::ffmpeg_state();
  if (state.reason.empty()) return {Mark::kOk, "ffmpeg", state.version, ""};
  return {Mark::kMissing, "ffmpeg", "videos and cameras can't be read: " + state.reason,
          "if you need it, install it (Debian: apt install ffmpeg)"};
}

/// Each module with the version of its library, or why it can't be used.
Section check_modules(const Machine& machine) {
  Section section{"Modules", {}};
  for (const std::string& name : known_modules()) {
    if (name.ends_with("_cuda") && machine.cuda.devices.empty()) {
      section.findings.push_back({Mark::kMissing, name, "not looked at: it is for NVIDIA GPUs, and there is none", ""});
      continue;
    }
    const ModuleStatus status = module_status(name);
    if (status.state == ModuleState::kUsable) {
      section.findings.push_back({Mark::kOk, name, status.version, ""});
      continue;
    }
    const char* const what = status.state == ModuleState::kNotBuilt      ? "not built"
                             : status.state == ModuleState::kNotLoadable ? "not loadable"
                                                                         : "not usable here";
    section.findings.push_back({Mark::kMissing, name, fmt::format("{}: {}", what, status.reason), status.remedy});
  }
  if (!machine.cuda.devices.empty()) section.findings.push_back(check_device_groups());
  section.findings.push_back(check_ffmpeg());
  return section;
}

/// What the sensors say together, over a second.
Finding check_energy(measure::EnergyMeter meter) {
  const char* const remedy =
      "measure it at the socket with --meter, or state powers with --assume-power cpu=65W,idle=20W";
  if (!meter.refusal().empty()) return {Mark::kMissing, "energy", "stays empty in records; all else works", remedy};
  constexpr auto kLookEvery = std::chrono::milliseconds(210);
  constexpr double kWait_s = 2;  // for a meter's answer
  constexpr int kLooks = 5;
  meter.poll(kWait_s);
  for (int look = 1; look <= kLooks; ++look) {
    std::this_thread::sleep_for(kLookEvery);
    meter.poll(look == kLooks ? kWait_s : 0);
  }
  const record::Energy energy = meter.energy(meter.seconds());
  if (!energy.joules) return {Mark::kMissing, "energy", energy.reason, remedy};
  std::string text = fmt::format("measured: {:.3g} W at present", *energy.joules / meter.seconds());
  for (const measure::ChannelMeter& one : meter.meters()) {
    if (one.mirrors != nullptr) text += "; " + one.mirror_text();
  }
  if (energy.lacks.empty()) return {Mark::kOk, "energy", text, ""};
  return {Mark::kNote, "energy", text + ", " + lacks_text(energy), ""};
}

/// Every energy sensor with its state, and what would make it readable.
Section check_sensors() {
  Section section{"Sensors", {}};
  measure::Sensors sensors = measure::open_sensors({}, "/", boot_now_s);
  for (const measure::SensorState& state : measure::sensor_states(sensors)) {
    const Mark mark = !state.usable ? Mark::kMissing : state.is_partial ? Mark::kNote : Mark::kOk;
    section.findings.push_back({mark, state.name, state.text, state.remedy});
  }
  section.findings.push_back(check_energy(measure::EnergyMeter(std::move(sensors))));
  return section;
}

Section check_storage() {
  constexpr std::uintmax_t kLittle = 1'000'000'000;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::space_info space = fs::space(here, error);
  Finding finding{Mark::kOk, "disk", "", ""};
  if (error) {
    finding = {Mark::kMissing, "disk", "the current folder can't be read: " + error.message(),
               "change to another folder"};
  } else {
    finding.text = fmt::format("{} free in the current folder", bytes_text(space.available));
    if (space.available < kLittle) {
      finding.mark = Mark::kNote;
      finding.remedy = "free some space, or write results to another disk with --out";
    }
    if (::access(here.c_str(), W_OK) != 0) {
      finding.mark = Mark::kNote;
      finding.text += ", which can't be written to";
      finding.remedy = "change to another folder, or give --out";
    }
  }
  return {"Storage", {finding}};
}

/// Typical placements: whether each can be used now, later, or not on this machine.
Section check_placements(const Machine& machine, bool engine_usable) {
  std::vector<std::string> candidates = {"cpu",    "cpu/t1",   fmt::format("{}xcpu/t1", std::max(2, machine.cores)),
                                         "cuda:0", "cuda:all", "cuda:0+cpu"};
  if (!machine.opencl.devices.empty()) candidates.emplace_back("opencl:0");
  if (!machine.intel.devices.empty()) candidates.emplace_back("intel:0");
  if (!machine.npu.devices.empty()) candidates.emplace_back("npu");
  Section section{"Placements (--on)", {}};
  for (const std::string& text : candidates) section.findings.push_back(check_placement(text, machine, engine_usable));
  return section;
}

/// The processor's peak rates, measured, which takes two seconds.
Section check_peaks() {
  const measure::Peaks peaks = measure::measure_peaks();
  const std::string all = counted(peaks.threads, "thread");
  const auto pair = [&all](double one, double together, const char* unit) {
    return fmt::format("{:.1f} {} on one thread, {:.1f} {} on {}", one, unit, together, unit, all);
  };
  Section section{"Peaks", {}};
  section.findings.push_back({Mark::kOk, "fp32 multiply-adds",
                              pair(peaks.fma_gflops, peaks.all_fma_gflops, "GFLOP/s") + " (" + peaks.instructions + ")",
                              ""});
  if (peaks.bf16_gflops) {
    section.findings.push_back(
        {Mark::kOk, "bf16 dot products", pair(*peaks.bf16_gflops, *peaks.all_bf16_gflops, "GFLOP/s"), ""});
  } else {
    section.findings.push_back({Mark::kNote, "bf16 dot products", "this processor has none (AVX512-BF16)", ""});
  }
  section.findings.push_back(
      {Mark::kOk, "reading memory", pair(peaks.memory_gb_per_s, peaks.all_memory_gb_per_s, "GB/s"), ""});
  return section;
}

Diagnosis diagnose(const Machine& machine) {
  Diagnosis result;
  const ModuleStatus torch = module_status("torch");
  result.can_train_on_cpu = torch.state == ModuleState::kUsable;
  result.sections = {check_devices(machine), check_modules(machine), check_sensors(), check_storage(),
                     check_placements(machine, result.can_train_on_cpu)};
  result.conclusion = result.can_train_on_cpu
                          ? "Training on the CPU works."
                          : "Training does not work: the module 'torch' can't be used (see Modules).";
  return result;
}

std::string mark_text(Mark mark, bool colour) {
  const std::string text = fmt::format("{:<7}", mark_name(mark));
  if (!colour) return text;
  const char* code = mark == Mark::kOk ? "32" : mark == Mark::kNote ? "33" : "31";
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string as_text(const Diagnosis& diagnosis, bool colour) {
  std::size_t width = 0;
  for (const Section& section : diagnosis.sections) {
    for (const Finding& finding : section.findings) width = std::max(width, finding.name.size());
  }
  std::string text;
  for (const Section& section : diagnosis.sections) {
    text += section.title + "\n";
    for (const Finding& finding : section.findings) {
      text += fmt::format("  {}  {:<{}}  {}\n", mark_text(finding.mark, colour), finding.name, width, finding.text);
      if (!finding.remedy.empty()) text += fmt::format("  {:7}  {:<{}}  -> {}\n", "", "", width, finding.remedy);
    }
    text += "\n";
  }
  return text + diagnosis.conclusion + "\n";
}

json as_json(const Diagnosis& diagnosis) {
  json sections = json::array();
  for (const Section& section : diagnosis.sections) {
    json findings = json::array();
    for (const Finding& finding : section.findings) {
      findings.push_back({{"name", finding.name},
                          {"mark", mark_name(finding.mark)},
                          {"text", finding.text},
                          {"remedy", finding.remedy.empty() ? json() : json(finding.remedy)}});
    }
    sections.push_back({{"title", section.title}, {"findings", findings}});
  }
  return {{"schema", 1},
          {"kind", "doctor"},
          {"can_train_on_cpu", diagnosis.can_train_on_cpu},
          {"conclusion", diagnosis.conclusion},
          {"sections", sections}};
}

struct DoctorFlags : OptionGroup {
  DoctorFlags() : OptionGroup("Output") {}

  Option<std::string> json{*this, "--json FILE", "Write the findings as JSON to a file; - is stdout"};
  Option<bool> peaks{*this, "--peaks", "Measure the processor's peaks too: multiply-adds, reading memory (2 s)"};
};

int doctor(const DoctorFlags& flags) {
  Diagnosis diagnosis = diagnose(placement::machine());
  if (*flags.peaks) diagnosis.sections.push_back(check_peaks());
  if (!write_json(*flags.json, as_json(diagnosis))) fmt::print("{}", as_text(diagnosis, may_colour(STDOUT_FILENO)));
  return diagnosis.can_train_on_cpu ? 0 : 1;
}

}  // namespace

Command doctor_command() {
  const auto flags = std::make_shared<DoctorFlags>();
  return {.name = "doctor",
          .summary = "Devices, libraries, sensors: what works, what does not, why",
          .options = {flags.get()},
          .footer =
              "Exit code 0 if training on the CPU works, else 1.\n"
              "Examples:\n  evener doctor\n  evener doctor --json -",
          .run = [flags] { return doctor(*flags); }};
}

}  // namespace evener::app
