//! A module: compiled once, and called in instances that live for one slice of a round.
//!
//! Idea: instructions are counted as fuel, which depends on the module and its input alone, so a call that takes too many takes too many every time.
//! Memory is bounded by a limiter, and charged to the query. Traps need no signals: bounds are checked by the code itself.

use crate::limits::{
    CALL_BYTES_MAX, CALL_FUEL, CALL_FUEL_PER_BYTE, MODULE_BYTES_MAX, MODULE_MEMORY_BYTES_MAX,
    MODULE_STACK_BYTES_MAX, MODULE_TABLE_MAX,
};
use dataflow::Failure;
use procedures::settings::wrong;
use std::sync::OnceLock;
use wasmtime::{
    Config, Engine, ExternType, InstancePre, Linker, Memory, ResourceLimiter, Store, Trap, TypedFunc, ValType,
};
use world::fiber::Still;

/// The exports of a module besides its memory: name, parameters, results.
const EXPORTS: [(&str, &[ValType], &[ValType]); 4] = [
    ("tanglewood_version", &[], &[ValType::I32]),
    ("tanglewood_reserve", &[ValType::I32], &[ValType::I32]),
    ("tanglewood_needs", &[], &[ValType::I64]),
    ("tanglewood_visit", &[], &[ValType::I64]),
];

/// See the module's head.
pub struct Module {
    engine: Engine,
    ready: InstancePre<ModuleBounds>,
}

/// Why a call has no answer: the module's violation.
pub(super) struct ModuleStop(String);

impl ModuleStop {
    /// As an error of the query; `nodes` were visited.
    pub(super) fn told(self, program: &str, nodes: usize) -> Failure {
        let place = if nodes == 0 { String::new() } else { format!(" at {nodes} nodes") };
        wrong(format!("the program `{program}` was ended{place}: {}", self.0)).into()
    }
}

/// ModuleBounds the memory of an instance.
#[derive(Default)]
struct ModuleBounds {
    is_greedy: bool,
}

impl ResourceLimiter for ModuleBounds {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.is_greedy |= desired > MODULE_MEMORY_BYTES_MAX;
        Ok(desired <= MODULE_MEMORY_BYTES_MAX)
    }
    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= MODULE_TABLE_MAX)
    }
}

fn engine() -> Result<&'static Engine, String> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| {
        let mut config = Config::new();
        config
            .consume_fuel(true)
            .signals_based_traps(false)
            .max_wasm_stack(MODULE_STACK_BYTES_MAX)
            // So it grows in its place.
            .memory_reservation(MODULE_MEMORY_BYTES_MAX as u64)
            .memory_guard_size(0)
            .memory_reservation_for_growth(0)
            .cranelift_nan_canonicalization(true)
            .wasm_relaxed_simd(false)
            .wasm_multi_memory(false)
            .wasm_memory64(false);
        Engine::new(&config).map_err(|error| format!("{error:#}"))
    });
    engine.as_ref().map_err(Clone::clone)
}

impl Module {
    /// The module of these bytes.
    ///
    /// # Errors
    /// The fault of the module.
    pub(super) fn compile(bytes: &[u8]) -> Result<Module, String> {
        if bytes.len() > MODULE_BYTES_MAX {
            return Err(format!("it has {} bytes, and a module has at most {MODULE_BYTES_MAX}", bytes.len()));
        }
        let engine = engine()?;
        let module = wasmtime::Module::from_binary(engine, bytes)
            .map_err(|error| format!("it is no module of WebAssembly: {error:#}"))?;
        if let Some(import) = module.imports().next() {
            let (from, name) = (import.module(), import.name());
            return Err(format!("it imports `{from}.{name}`, and a program imports nothing"));
        }
        if !matches!(module.get_export("memory"), Some(ExternType::Memory(_))) {
            return Err("it exports no memory of the name `memory`".into());
        }
        for (name, parameters, results) in EXPORTS {
            let Some(ExternType::Func(function)) = module.get_export(name) else {
                return Err(format!(
                    "it exports no function `{name}`; tanglewood_program::export! makes them"
                ));
            };
            let is = |found: &mut dyn Iterator<Item = ValType>, wanted: &[ValType]| {
                let found: Vec<ValType> = found.collect();
                found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| ValType::eq(a, b))
            };
            if !is(&mut function.params(), parameters) || !is(&mut function.results(), results) {
                return Err(format!("its function `{name}` takes or returns something else"));
            }
        }
        let ready = Linker::new(engine).instantiate_pre(&module).map_err(|error| format!("{error:#}"))?;
        let module = Module { engine: engine.clone(), ready };
        let version = module.version().map_err(|ModuleStop(what)| what)?;
        if version != program::VERSION {
            let ours = program::VERSION;
            return Err(format!("it is of version {version}, and this database runs version {ours}"));
        }
        Ok(module)
    }

    fn version(&self) -> Result<u32, ModuleStop> {
        let Instance { mut store, instance, .. } = self.instance()?;
        let version = instance.get_typed_func::<(), u32>(&mut store, "tanglewood_version");
        let version = version.and_then(|version| version.call(&mut store, ()));
        version.map_err(|error| ModuleStop(why(&error, CALL_FUEL, store.data())))
    }

    /// A fresh instance.
    pub(super) fn instance(&self) -> Result<Instance, ModuleStop> {
        let mut store = Store::new(&self.engine, ModuleBounds::default());
        store.limiter(|bounds| bounds);
        let _still = Still::begin();
        let made = store.set_fuel(CALL_FUEL).and_then(|()| self.ready.instantiate(&mut store));
        let instance = made.map_err(|error| ModuleStop(why(&error, CALL_FUEL, store.data())))?;
        match instance.get_memory(&mut store, "memory") {
            Some(memory) => Ok(Instance { store, instance, memory }),
            None => Err(ModuleStop("it exports no memory of the name `memory`".into())),
        }
    }
}

/// An instance of a module.
pub(super) struct Instance {
    store: Store<ModuleBounds>,
    instance: wasmtime::Instance,
    memory: Memory,
}

impl Instance {
    /// Bytes of its memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory.data_size(&self.store)
    }
    /// Calls a function with these bytes: the bytes that it gives back.
    pub(super) fn call(&mut self, name: &str, given: &[u8]) -> Result<Vec<u8>, ModuleStop> {
        if given.len() > CALL_BYTES_MAX {
            return Err(ModuleStop(format!("it would be given more than {CALL_BYTES_MAX} bytes at once")));
        }
        let fuel = CALL_FUEL + CALL_FUEL_PER_BYTE * given.len() as u64;
        // The frames of a module are no frames that a fiber may leave.
        let _still = Still::begin();
        let told = self.answer(name, given, fuel);
        let told = told.map_err(|error| ModuleStop(why(&error, fuel, self.store.data())))?;
        told.ok_or_else(|| ModuleStop("it points outside of its memory, or answers more than 16 MiB".into()))
    }
    fn answer(&mut self, name: &str, given: &[u8], fuel: u64) -> wasmtime::Result<Option<Vec<u8>>> {
        let Instance { store, instance, memory } = self;
        store.set_fuel(fuel)?;
        let reserve: TypedFunc<u32, u32> = instance.get_typed_func(&mut *store, "tanglewood_reserve")?;
        let function: TypedFunc<(), u64> = instance.get_typed_func(&mut *store, name)?;
        let at = reserve.call(&mut *store, given.len() as u32)? as usize;
        if memory.write(&mut *store, at, given).is_err() {
            return Ok(None);
        }
        let told = function.call(&mut *store, ())?;
        let (at, length) = ((told >> 32) as usize, told as u32 as usize);
        if length > CALL_BYTES_MAX {
            return Ok(None);
        }
        let bytes = memory.data(&*store).get(at..at.saturating_add(length));
        Ok(bytes.map(<[u8]>::to_vec))
    }
}

/// Why a module was ended.
fn why(error: &wasmtime::Error, fuel: u64, bounds: &ModuleBounds) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            format!("it does not come to an end within {fuel} instructions; it has to do less at a node")
        }
        _ if bounds.is_greedy => format!("it takes more memory than {MODULE_MEMORY_BYTES_MAX} bytes"),
        Some(Trap::StackOverflow) => {
            format!("it calls itself too deeply, for a stack of {MODULE_STACK_BYTES_MAX} bytes")
        }
        Some(trap) => format!("it stopped by itself ({trap}), as by a panic"),
        None => format!("{error:#}"),
    }
}
