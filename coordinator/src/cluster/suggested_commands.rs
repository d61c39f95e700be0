//! The commands that connect to this coordinator, for messages that suggest the next one.

use fathom_command::address::Reached;
use fathom_command::machine;
use std::net::SocketAddr;

/// How commands reach this coordinator.
#[derive(Clone, Debug)]
pub struct Commands {
    /// The address as HOST:PORT.
    address: String,
    /// Where a worker listens for other workers, if other hosts cannot reach the default address.
    listen: &'static str,
    /// The options that the coordinator's keys require, each after a space.
    options: String,
}

impl Default for Commands {
    /// The commands for an unknown address.
    fn default() -> Self {
        Self { address: "HOST:PORT".into(), listen: "", options: String::new() }
    }
}

impl Commands {
    /// Creates the commands for a coordinator that listens on `address`, and is reached at `advertised`, if that is
    /// given. `options` are those that its [keys](fathom_proto::access::Access::options) require.
    pub fn new(address: SocketAddr, advertised: Option<&Reached>, options: &str) -> Self {
        let (ip, port) = (address.ip(), address.port());
        let called = match advertised {
            Some(reached) => reached.with_port(port),
            // Other hosts cannot connect to the unspecified address.
            None if ip.is_unspecified() => format!("{}:{port}", machine::host_name()),
            None => address.to_string(),
        };
        let listen = match ip.to_canonical() {
            ip if ip.is_loopback() => "",
            ip if ip.is_ipv4() => " --listen 0.0.0.0:0",
            _ => " --listen [::]:0",
        };
        Self { address: called, listen, options: options.into() }
    }

    /// Returns the address at which the coordinator is called, as HOST:PORT.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the command that shows the status.
    pub fn status(&self) -> String {
        format!("fathom status {}{}", self.address, self.options)
    }

    /// Returns the command that stops the run.
    pub fn stop(&self) -> String {
        format!("fathom stop {}{}", self.address, self.options)
    }

    /// Returns the command that starts a worker.
    pub fn join(&self) -> String {
        format!("fathom-worker --join {} --store DIR{}{}", self.address, self.listen, self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_contain_address_and_keys() {
        let here = Commands::new("127.0.0.1:7400".parse().unwrap(), None, "");
        assert_eq!(here.status(), "fathom status 127.0.0.1:7400");
        assert_eq!(here.join(), "fathom-worker --join 127.0.0.1:7400 --store DIR");
        let keys = " --keys /etc/fathom/keys";
        let address = "10.0.0.7:7400".parse().unwrap();
        let far = Commands::new(address, None, keys);
        assert_eq!(far.status(), "fathom status 10.0.0.7:7400 --keys /etc/fathom/keys");
        assert_eq!(far.stop(), "fathom stop 10.0.0.7:7400 --keys /etc/fathom/keys");
        let join =
            "fathom-worker --join 10.0.0.7:7400 --store DIR --listen 0.0.0.0:0 --keys /etc/fathom/keys";
        assert_eq!(far.join(), join);
        let all = Commands::new("[::]:7400".parse().unwrap(), None, keys);
        assert_eq!(all.address(), format!("{}:7400", machine::host_name()));
        assert!(all.join().contains(" --listen [::]:0 "), "{}", all.join());
        let named = Commands::new(address, Some(&"login-1".parse().unwrap()), keys);
        assert_eq!(named.address(), "login-1:7400");
    }
}
