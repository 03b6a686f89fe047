//! Settings: every knob (setting) by name or by number, and presets by name.
//!
//! Rule: a configuration is an array of numbers, one per knob. The caller may copy and change it in
//! any way, because each number is checked again when it is used. This file defines no knob: names
//! and ranges are those of `fullpipe::Config`.

use core::{
    ffi::c_char,
    mem::{MaybeUninit, size_of},
};

use fullpipe::{
    Config,
    presets::{PRESETS, alias},
};

use crate::{
    allocator,
    errno::{Errno, FP_EFAULT, FP_EINVAL, FP_ENOENT, FP_EOPNOTSUPP, FP_ERANGE, returned},
    heap::{Heap, UNIT},
    text::{self, TextBuffer},
};

#[cfg(test)]
mod tests;

/// Number of knobs. The header's value is written by xtask.
pub const FP_KNOBS: usize = Config::COUNT;

/// Every knob (setting) of a stack, as a number: bytes and counts directly, times in microseconds, 0
/// or 1 for a switch, and the index in the documented list of names for a choice. `value` is indexed
/// by FP_KNOB_... . The structure must exist until `fp_init` returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FpConfig {
    /// The value of each knob.
    pub value: [u64; FP_KNOBS],
}

impl FpConfig {
    fn new(config: &Config) -> Self {
        let mut value = [0; FP_KNOBS];
        for (knob, value) in value.iter_mut().enumerate() {
            *value = config.number(knob).unwrap_or(0);
        }
        Self { value }
    }

    /// Returns the configuration for Rust; [`FP_ERANGE`] if a value is not legal. Does not check if
    /// values contradict each other.
    pub(crate) fn read(&self) -> Result<Config, Errno> {
        let mut config = Config::default();
        let mut values = self.value.iter().enumerate();
        match values.all(|(knob, value)| config.set_number(knob, *value)) {
            true => Ok(config),
            false => Err(Errno(FP_ERANGE)),
        }
    }
}

/// Borrows the structure behind a caller's pointer.
///
/// # Safety
/// `pointer` is null, or valid for `'a`.
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T) -> Result<&'a T, Errno> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Errno(FP_EFAULT));
    }
    // SAFETY: the pointer is aligned and not null; the caller passes a pointer that is valid for
    // `'a`.
    Ok(unsafe { &*pointer })
}

/// Borrows the structure behind a caller's pointer for writing.
///
/// # Safety
/// `pointer` is null, or valid for `'a` and used by nobody else.
pub(crate) unsafe fn borrow_mut<'a, T>(pointer: *mut T) -> Result<&'a mut T, Errno> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Errno(FP_EFAULT));
    }
    // SAFETY: the pointer is aligned and not null; the caller passes a pointer that is valid for
    // `'a` and used by nobody else.
    Ok(unsafe { &mut *pointer })
}

/// Bytes of the heap for a call on a configuration. The call allocates texts of values and errors.
const SCRATCH: usize = 3 * 1024;

/// Runs `call` with a small heap in this function's local memory.
pub(crate) fn with_scratch<R>(call: impl FnOnce() -> R) -> Result<R, Errno> {
    #[repr(align(16))]
    struct Scratch([MaybeUninit<u8>; SCRATCH]);
    const { assert!(UNIT <= 16 && size_of::<Scratch>() == SCRATCH) };
    let mut scratch = Scratch([MaybeUninit::uninit(); SCRATCH]);
    // SAFETY: the array is aligned to 16 bytes, and used only by this heap.
    let mut heap = unsafe { Heap::new(scratch.0.as_mut_ptr().cast(), SCRATCH) };
    allocator::within(&mut heap, call)
}

/// Sets a knob, by its own name or by an alias (the name of a setting of another system). The name
/// is looked up first, because for an unknown name `Config::set` would allocate a list of all
/// names.
fn set(config: &mut Config, name: &str, value: &str) -> Result<(), Errno> {
    if alias::find_not_expressible(name).is_some() {
        return Err(Errno(FP_EOPNOTSUPP));
    }
    if alias::find(name).is_none() && !Config::names().any(|known| known == name) {
        return Err(Errno(FP_ENOENT));
    }
    config.set(name, value).map_err(|error| Errno::from(&error))
}

/// Writes the values of a preset to `config`: "default" (or NULL), "nuttx", "unet3", "netburner" or
/// "linux". Returns 0, or -FP_ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_config_init(config: *mut FpConfig, preset: *const c_char) -> i32 {
    let init = || {
        let name = match preset.is_null() {
            true => "default",
            // SAFETY: the caller passes a string of C.
            false => unsafe { text::read(preset) }?,
        };
        let preset = PRESETS.iter().find(|preset| preset.name == name);
        let preset = preset.ok_or(Errno(FP_ENOENT))?;
        if config.is_null() || !config.is_aligned() {
            return Err(Errno(FP_EFAULT));
        }
        let values = with_scratch(|| FpConfig::new(&preset.config()))?;
        // SAFETY: the pointer is aligned and not null; the caller passes memory for it.
        unsafe { config.write(values) };
        Ok(0)
    };
    returned(init())
}

/// Sets the knob called `name` from text, for example "tcp.send_buffer" to "16K" or "tcp.rto_min" to
/// "200ms". `name` may also be a setting of another system, see docs/knobs.md. Returns 0, -FP_ENOENT
/// for an unknown name, -FP_EINVAL for a text that is not a value, -FP_ERANGE for a value that is not
/// legal, or -FP_EOPNOTSUPP for a setting of another system that no knob expresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_config_set(
    config: *mut FpConfig,
    name: *const c_char,
    value: *const c_char,
) -> i32 {
    let change = || {
        // SAFETY: the caller passes a configuration and two strings of C.
        let (values, name, value) =
            unsafe { (borrow_mut(config)?, text::read(name)?, text::read(value)?) };
        let mut config = values.read()?;
        with_scratch(|| set(&mut config, name, value))??;
        *values = FpConfig::new(&config);
        Ok(0)
    };
    returned(change())
}

/// Sets the knob with the number `knob` (FP_KNOB_...). Returns 0, -FP_ENOENT or -FP_ERANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_config_set_number(config: *mut FpConfig, knob: u32, value: u64) -> i32 {
    let change = || {
        // SAFETY: the caller passes a configuration.
        let values = unsafe { borrow_mut(config) }?;
        let place = values
            .value
            .get_mut(knob as usize)
            .ok_or(Errno(FP_ENOENT))?;
        match Config::default().set_number(knob as usize, value) {
            true => *place = value,
            false => return Err(Errno(FP_ERANGE)),
        }
        Ok(0)
    };
    returned(change())
}

/// Writes the value of a knob as text, cut to `len` bytes including the NUL. Returns the length of
/// the whole text, -FP_ENOENT or -FP_ERANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_config_get(
    config: *const FpConfig,
    name: *const c_char,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    let get = || {
        // SAFETY: the caller passes a configuration, a string of C and a buffer of `len` bytes.
        let (config, name, buffer) = unsafe {
            (
                borrow(config)?.read()?,
                text::read(name)?,
                TextBuffer::new(buffer, len)?,
            )
        };
        with_scratch(|| {
            let value = config.get(name).ok_or(Errno(FP_ENOENT))?;
            Ok(buffer.print(value))
        })?
    };
    returned(get())
}

/// Checks every knob, and the knobs against each other. Returns 0; otherwise an error number, and
/// the reason as text in `buffer`, cut to `len` bytes. `buffer` may be NULL if `len` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_config_check(
    config: *const FpConfig,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    let check = || {
        // SAFETY: the caller passes a configuration and a buffer of `len` bytes.
        let (values, buffer) = unsafe { (borrow(config)?, TextBuffer::new(buffer, len)?) };
        let mut config = Config::default();
        for (knob, value) in values.value.iter().enumerate() {
            if !config.set_number(knob, *value) {
                let name = Config::names().nth(knob).unwrap_or_default();
                buffer.print(format_args!(
                    "{name} = {value}: outside the knob's legal range"
                ));
                return Err(Errno(FP_ERANGE));
            }
        }
        with_scratch(|| match config.validate() {
            Ok(()) => Ok(0),
            Err(error) => {
                let number = Errno::from(&error);
                buffer.print(error);
                Err(number)
            }
        })?
    };
    returned(check())
}

/// Writes the name of a knob, cut to `len` bytes including the NUL. Returns the length of the name,
/// or -FP_ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_knob_name(knob: u32, buffer: *mut c_char, len: usize) -> i32 {
    let write = || {
        let name = Config::names().nth(knob as usize).ok_or(Errno(FP_ENOENT))?;
        // SAFETY: the caller passes a buffer of `len` bytes.
        Ok(unsafe { TextBuffer::new(buffer, len) }?.print(name))
    };
    returned(write())
}

/// Returns the number of the knob called `name`, or -FP_ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_knob_number(name: *const c_char) -> i32 {
    let find = || {
        // SAFETY: the caller passes a string of C.
        let name = unsafe { text::read(name) }?;
        let place = Config::names().position(|known| known == name);
        place.map(|knob| knob as i32).ok_or(Errno(FP_ENOENT))
    };
    returned(find())
}

/// Returns the bytes that the arena of a stack needs with this configuration, or a negative error
/// number: -FP_ERANGE for a value that is not legal, -FP_EINVAL for knobs that contradict each
/// other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_needed(config: *const FpConfig) -> i64 {
    let needed = || {
        // SAFETY: the caller passes a configuration.
        let config = unsafe { borrow(config) }?.read()?;
        with_scratch(|| config.validate().map_err(|error| Errno::from(&error)))??;
        i64::try_from(crate::arena::needed(&config)).map_err(|_| Errno(FP_EINVAL))
    };
    needed().unwrap_or_else(|Errno(number)| i64::from(-number))
}
